package headrace.pipelines.connect.java;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTaskContext;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceTaskContext;
import org.apache.kafka.connect.storage.OffsetStorageReader;

/**
 * What plugins may ask of their worker, whichever version of Connect they were made for.
 *
 * The interfaces have grown with the versions, so they are answered by the names of their methods.
 * Metrics of plugins are taken and shown to nobody.
 */
final class Contexts implements InvocationHandler {
    private final Wire wire;
    private final Map settings;
    private Metrics metrics;
    private boolean hasReporter;
    final Set assigned = new HashSet();
    final Set paused = new HashSet();
    final Map seeks = new HashMap();
    /** Records of the put that is carried out, with their rows. */
    final Map current = new IdentityHashMap();
    /** Rows of it that the task reported, with the faults; and the first report that came late. */
    final Map reported = new LinkedHashMap();
    private Throwable late;

    Contexts(Wire wire, Map settings) {
        this.wire = wire;
        this.settings = settings;
        this.hasReporter =
                Settings.text(settings, "errors.deadletterqueue.topic.name", null) != null
                || "true".equalsIgnoreCase(Settings.text(settings, "errors.log.enable", ""));
    }

    org.apache.kafka.connect.connector.ConnectorContext ofConnector(Object connector)
            throws ClassNotFoundException {
        String kind = connector instanceof SourceConnector
                ? "org.apache.kafka.connect.source.SourceConnectorContext"
                : "org.apache.kafka.connect.sink.SinkConnectorContext";
        return (org.apache.kafka.connect.connector.ConnectorContext) proxy(loaded(kind));
    }

    SourceTaskContext ofSource() {
        return (SourceTaskContext) proxy(SourceTaskContext.class);
    }

    SinkTaskContext ofSink() {
        return (SinkTaskContext) proxy(SinkTaskContext.class);
    }

    /** Give a converter or transform its metrics, if it wants any. */
    void metricsFor(Object plugin) throws Exception {
        Class monitorable;
        try {
            monitorable = loaded("org.apache.kafka.common.metrics.Monitorable");
        } catch (ClassNotFoundException older) {
            return;
        }
        if (monitorable.isInstance(plugin)) {
            Class kind = loaded("org.apache.kafka.common.metrics.PluginMetrics");
            Method given = monitorable.getMethod("withPluginMetrics", new Class[] {kind});
            given.invoke(plugin, new Object[] {proxy(kind)});
        }
    }

    synchronized Throwable late() {
        return late;
    }

    synchronized void close() {
        if (metrics != null) {
            metrics.close();
            metrics = null;
        }
    }

    private static Class loaded(String name) throws ClassNotFoundException {
        return Thread.currentThread().getContextClassLoader().loadClass(name);
    }

    private Object proxy(Class kind) {
        return Proxy.newProxyInstance(kind.getClassLoader(), new Class[] {kind}, this);
    }

    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        String name = method.getName();
        if (method.getDeclaringClass() == Object.class) {
            return ofObject(proxy, name, arguments);
        }
        String kind = method.getDeclaringClass().getSimpleName();
        if (kind.equals("PluginMetrics")) {
            return ofMetrics(name, arguments);
        }
        if (kind.equals("OffsetStorageReader")) {
            return name.equals("offset")
                    ? offsets(Collections.singletonList(arguments[0])).get(arguments[0])
                    : offsets((Collection) arguments[0]);
        }
        if (kind.equals("ErrantRecordReporter")) {
            return report((SinkRecord) arguments[0], (Throwable) arguments[1]);
        }
        if (name.equals("configs")) {
            return settings;
        } else if (name.equals("offsetStorageReader")) {
            return proxy(OffsetStorageReader.class);
        } else if (name.equals("pluginMetrics")) {
            return proxy(method.getReturnType());
        } else if (name.equals("assignment")) {
            return new HashSet(assigned);
        } else if (name.equals("offset")) {
            seek(arguments);
            return null;
        } else if (name.equals("pause")) {
            paused.addAll(Arrays.asList((TopicPartition[]) arguments[0]));
            return null;
        } else if (name.equals("resume")) {
            paused.removeAll(Arrays.asList((TopicPartition[]) arguments[0]));
            return null;
        } else if (name.equals("errantRecordReporter")) {
            return hasReporter ? proxy(method.getReturnType()) : null;
        } else if (name.equals("raiseError")) {
            throw (Throwable) arguments[0];
        } else if (name.equals("timeout") || name.equals("requestCommit")
                || name.equals("transactionContext")
                || name.equals("requestTaskReconfiguration")) {
            return null;
        }
        throw new UnsupportedOperationException(method + " is not known to this worker");
    }

    private Object ofObject(Object proxy, String name, Object[] arguments) {
        if (name.equals("equals")) {
            return Boolean.valueOf(proxy == arguments[0]);
        }
        if (name.equals("hashCode")) {
            return Integer.valueOf(System.identityHashCode(proxy));
        }
        return "a context of " + Settings.text(settings, "name", "a connector");
    }

    private Map offsets(Collection partitions) throws Throwable {
        List asked = new ArrayList(partitions);
        List question = new ArrayList();
        question.add("offsets");
        question.add(asked);
        List told = (List) wire.ask(question);
        Map found = new HashMap();
        for (int i = 0; i < asked.size(); i++) {
            if (told.get(i) != null) {
                found.put(asked.get(i), told.get(i));
            }
        }
        return found;
    }

    private void seek(Object[] arguments) {
        if (arguments.length == 1) {
            seeks.putAll((Map) arguments[0]);
        } else {
            seeks.put(arguments[0], arguments[1]);
        }
    }

    private synchronized Object report(SinkRecord record, Throwable fault) {
        Object row = current.get(record);
        if (row != null) {
            reported.put(row, fault);
        } else if (late == null) {
            late = fault;
        }
        return CompletableFuture.completedFuture(null);
    }

    private synchronized Object ofMetrics(String name, Object[] arguments) {
        if (metrics == null) {
            metrics = new Metrics();
        }
        if (name.equals("metricName")) {
            Map tags = (Map) arguments[2];
            return new MetricName((String) arguments[0], "plugins", (String) arguments[1], tags);
        }
        if (name.equals("addSensor")) {
            return metrics.sensor((String) arguments[0]);
        }
        if (name.equals("removeSensor")) {
            metrics.removeSensor((String) arguments[0]);
        }
        return null;
    }
}
