package org.apache.spark.sql.execution.datasources.v2.python;

import java.lang.reflect.Field;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Function1;
import scala.Option;
import scala.Product;
import scala.Some;
import scala.runtime.AbstractPartialFunction;

/**
 * A rule of the optimizer: each plan reads its topics for itself.
 *
 * Spark keeps what it planned to read with the result of load(), for all plans over it. Here each
 * of them gets a scan of its own. The conditions above a scan go with it, in the metadata of the
 * schema that Python is given; they stay in the plan, too, so it is enough if what is read has
 * every row that they let pass.
 */
public final class TopicScans extends Rule {
    private final String format;
    private final String conditions; // the name in the metadata
    private final Field sourceOfTable;
    private final Field formatOfTable;

    /** Fails, before any query could, where Spark's tables are not as they are known here. */
    public TopicScans(String format, String conditions) throws NoSuchFieldException {
        this.format = format;
        this.conditions = conditions;
        sourceOfTable = PythonTable.class.getDeclaredField("ds");
        formatOfTable = PythonTable.class.getDeclaredField("shortName");
        sourceOfTable.setAccessible(true);
        formatOfTable.setAccessible(true);
    }

    public TreeNode apply(TreeNode plan) {
        return plan.transformUp(new Replacement());
    }

    private final class Replacement extends AbstractPartialFunction {
        public boolean isDefinedAt(Object node) {
            return replaced(node) != node;
        }

        public Object applyOrElse(Object node, Function1 otherwise) {
            Object found = replaced(node);
            return found == node ? otherwise.apply(node) : found;
        }
    }

    private Object replaced(Object node) {
        if (node instanceof DataSourceV2ScanRelation) {
            DataSourceV2ScanRelation relation = (DataSourceV2ScanRelation) node;
            return relation.scan().getClass() == PythonScan.class && isOurs(relation)
                    ? with(relation, new Filter[0])
                    : node;
        }
        if (!(node instanceof org.apache.spark.sql.catalyst.plans.logical.Filter)) {
            return node;
        }
        org.apache.spark.sql.catalyst.plans.logical.Filter above =
                (org.apache.spark.sql.catalyst.plans.logical.Filter) node;
        if (!(above.child() instanceof DataSourceV2ScanRelation)) {
            return node;
        }
        DataSourceV2ScanRelation relation = (DataSourceV2ScanRelation) above.child();
        if (!(relation.scan() instanceof TopicScan)) {
            return node;
        }
        Filter[] filters = filtersOf(above.condition());
        if (Arrays.equals(filters, ((TopicScan) relation.scan()).filters)) {
            return node;
        }
        return above.makeCopy(new Object[] {above.condition(), with(relation, filters)});
    }

    private boolean isOurs(DataSourceV2ScanRelation relation) {
        return relation.relation().table() instanceof PythonTable
                && format.equals(valueOf(formatOfTable, relation));
    }

    /** The same relation with a scan of its own. */
    private LogicalPlan with(DataSourceV2ScanRelation relation, Filter[] filters) {
        Scan scan = new TopicScan(
                (PythonDataSourceV2) valueOf(sourceOfTable, relation),
                format, relation.relation().table().schema(), relation.relation().options(),
                filters, conditions);
        Object[] parts = new Object[relation.productArity()];
        for (int i = 0; i < parts.length; i++) {
            Object part = relation.productElement(i);
            parts[i] = part == relation.scan() ? scan : part;
        }
        return (LogicalPlan) relation.makeCopy(parts);
    }

    private static Object valueOf(Field field, DataSourceV2ScanRelation relation) {
        try {
            return field.get(relation.relation().table());
        } catch (IllegalAccessException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static Filter[] filtersOf(Expression condition) {
        List found = new ArrayList();
        scala.collection.Iterator each =
                DataSourceStrategy$.MODULE$.splitConjunctivePredicates(condition).iterator();
        while (each.hasNext()) {
            Expression part = (Expression) each.next();
            Option filter = DataSourceStrategy$.MODULE$.translateFilter(part, false);
            if (part.deterministic() && filter.isDefined()) {
                found.add(filter.get());
            }
        }
        return (Filter[]) found.toArray(new Filter[0]);
    }

    /** One reading, planned when a query is executed; explain("formatted") shows its filters. */
    private static final class TopicScan extends PythonScan {
        private final PythonDataSourceV2 source;
        private final String name;
        private final StructType schema;
        private final CaseInsensitiveStringMap options;
        private final Filter[] filters;
        private final String conditions;

        TopicScan(
                PythonDataSourceV2 source, String name, StructType schema,
                CaseInsensitiveStringMap options, Filter[] filters, String conditions) {
            super(source, name, schema, options, filters);
            this.source = source;
            this.name = name;
            this.schema = schema;
            this.options = options;
            this.filters = filters;
            this.conditions = conditions;
        }

        public Batch toBatch() {
            PythonDataSourceV2 own = new PythonDataSourceV2();
            own.setShortName(name);
            own.setReadInfo(source.source().createReadInfoInPython(
                    source.getOrCreateDataSourceInPython(name, options, new Some(schema)),
                    schemaWithConditions(), false));
            return new PythonBatch(own, name, schema, options);
        }

        private StructType schemaWithConditions() {
            List told = new ArrayList();
            for (int i = 0; i < filters.length; i++) {
                Metadata condition = conditionOf(filters[i]);
                if (condition != null) {
                    told.add(condition);
                }
            }
            StructField[] fields = (StructField[]) schema.fields().clone();
            StructField first = fields[0];
            Metadata metadata = new MetadataBuilder()
                    .withMetadata(first.metadata())
                    .putMetadataArray(conditions, (Metadata[]) told.toArray(new Metadata[0]))
                    .build();
            fields[0] = new StructField(first.name(), first.dataType(), first.nullable(), metadata);
            return new StructType(fields);
        }
    }

    /** A comparison of a column with texts, or with numbers; null for all other filters. */
    private static Metadata conditionOf(Filter filter) {
        Product parts = (Product) filter;
        if (parts.productArity() != 2 || !(parts.productElement(0) instanceof String)) {
            return null;
        }
        MetadataBuilder told = new MetadataBuilder()
                .putString("column", (String) parts.productElement(0))
                .putString("operator", parts.productPrefix());
        Object value = parts.productElement(1);
        Object[] values = value instanceof Object[] ? (Object[]) value : new Object[] {value};
        List texts = new ArrayList();
        List numbers = new ArrayList();
        for (int i = 0; i < values.length; i++) {
            if (values[i] instanceof String) {
                texts.add(values[i]);
            } else if (values[i] instanceof Integer || values[i] instanceof Long) {
                numbers.add(Long.valueOf(((Number) values[i]).longValue()));
            } else if (values[i] instanceof Timestamp) {
                numbers.add(Long.valueOf(((Timestamp) values[i]).getTime()));
            } else if (values[i] instanceof Instant) {
                numbers.add(Long.valueOf(((Instant) values[i]).toEpochMilli()));
            }
        }
        if (texts.size() == values.length) {
            told.putStringArray("values", (String[]) texts.toArray(new String[0]));
        } else if (numbers.size() == values.length) {
            told.putLongArray("values", longs(numbers));
        } else {
            return null;
        }
        return told.build();
    }

    private static long[] longs(List numbers) {
        long[] found = new long[numbers.size()];
        for (int i = 0; i < found.length; i++) {
            found[i] = ((Long) numbers.get(i)).longValue();
        }
        return found;
    }
}
