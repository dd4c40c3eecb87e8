package org.apache.spark.sql.execution.datasources.v2.python;

import java.lang.reflect.Field;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.streaming.sources.WriteToMicroBatchDataSource;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;
import scala.Function1;
import scala.Product;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;

/**
 * A rule of the optimizer: a topic takes the rows that output mode update gives, by appending them.
 *
 * Spark asks a sink for this capability when it plans a batch, and no sink written in Python has
 * it. Here the sink's table is replaced before that by one that has.
 */
public final class TopicWrites extends Rule {
    private final String format;
    private final Field sourceOfTable;
    private final Field formatOfTable;

    /** Fails, before any query could, where Spark's tables are not as they are known here. */
    public TopicWrites(String format) throws NoSuchFieldException {
        this.format = format;
        sourceOfTable = PythonTable.class.getDeclaredField("ds");
        formatOfTable = PythonTable.class.getDeclaredField("shortName");
        sourceOfTable.setAccessible(true);
        formatOfTable.setAccessible(true);
    }

    /** What Spark's extensions ask for: the rule of a session. */
    public Function1 forEachSession() {
        return new Builder(this);
    }

    public TreeNode apply(TreeNode plan) {
        return plan.transformUp(new Replacement());
    }

    private static final class Builder extends AbstractFunction1 {
        private final TopicWrites rule;

        private Builder(TopicWrites rule) {
            this.rule = rule;
        }

        public Object apply(Object session) {
            return rule;
        }
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
        return node instanceof WriteToMicroBatchDataSource
                ? withTables((TreeNode) node, (Product) node)
                : node;
    }

    /** The write with its table replaced, which is part of it or, since Spark 4.3, of a relation. */
    private TreeNode withTables(TreeNode node, Product known) {
        Object[] parts = new Object[known.productArity()];
        boolean changed = false;
        for (int i = 0; i < parts.length; i++) {
            Object part = known.productElement(i);
            parts[i] = part;
            if (part instanceof PythonTable) {
                parts[i] = tableFor((PythonTable) part);
            } else if (part instanceof DataSourceV2Relation) {
                parts[i] = withTables((TreeNode) part, (Product) part);
            }
            changed = changed || parts[i] != part;
        }
        return changed ? node.makeCopy(parts) : node;
    }

    /** An Object, because this class is made known to the JVM before its inner ones may be. */
    private Object tableFor(PythonTable table) {
        try {
            if (table.getClass() != PythonTable.class || !format.equals(formatOfTable.get(table))) {
                return table;
            }
            return new TopicTable((PythonDataSourceV2) sourceOfTable.get(table), format, table);
        } catch (IllegalAccessException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static final class TopicTable extends PythonTable {
        private final PythonDataSourceV2 source;
        private final String name;

        private TopicTable(PythonDataSourceV2 source, String name, PythonTable table) {
            super(source, name, table.schema());
            this.source = source;
            this.name = name;
        }

        public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
            return new TopicWriteBuilder(source, name, info);
        }
    }

    private static final class TopicWriteBuilder extends PythonWriteBuilder
            implements SupportsStreamingUpdateAsAppend {
        private TopicWriteBuilder(PythonDataSourceV2 source, String name, LogicalWriteInfo info) {
            super(source, name, info);
        }
    }
}
