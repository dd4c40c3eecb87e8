"""DynamoDB: the changes of tables, from their streams."""
