"""Search: records as documents of Elasticsearch or OpenSearch."""
