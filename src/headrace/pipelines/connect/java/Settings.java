package headrace.pipelines.connect.java;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.connect.connector.Connector;

/** What plugins say of themselves, and settings in the forms in which plugins take them. */
final class Settings {
    private Settings() {
    }

    static Object made(String name) throws Exception {
        Class kind = Thread.currentThread().getContextClassLoader().loadClass(name.trim());
        try {
            return kind.getDeclaredConstructor(new Class[0]).newInstance(new Object[0]);
        } catch (InvocationTargetException wrapped) {
            throw unwrapped(wrapped);
        }
    }

    static Exception unwrapped(InvocationTargetException wrapped) {
        Throwable cause = wrapped.getCause();
        if (cause instanceof Error) {
            throw (Error) cause;
        }
        return cause instanceof Exception ? (Exception) cause : wrapped;
    }

    /** The settings under a prefix, without it. */
    static Map under(Map settings, String prefix) {
        Map found = new HashMap();
        Iterator each = settings.entrySet().iterator();
        while (each.hasNext()) {
            Map.Entry entry = (Map.Entry) each.next();
            String key = (String) entry.getKey();
            if (key.startsWith(prefix)) {
                found.put(key.substring(prefix.length()), entry.getValue());
            }
        }
        return found;
    }

    static String text(Map settings, String key, String otherwise) {
        Object found = settings.get(key);
        return found == null || ((String) found).trim().isEmpty() ? otherwise : (String) found;
    }

    /** Version and keys of a plugin of any kind. */
    static Map described(String name) throws Exception {
        Object plugin = made(name);
        Map told = new LinkedHashMap();
        told.put("version", asked(plugin, "version"));
        ConfigDef definition = (ConfigDef) asked(plugin, "config");
        List keys = new ArrayList();
        if (definition != null) {
            Iterator each = definition.configKeys().values().iterator();
            while (each.hasNext()) {
                keys.add(key((ConfigDef.ConfigKey) each.next()));
            }
        }
        told.put("keys", keys);
        return told;
    }

    /** What a method without parameters returns; null if the plugin is older than the method. */
    private static Object asked(Object plugin, String method) throws Exception {
        Method found;
        try {
            found = plugin.getClass().getMethod(method, new Class[0]);
        } catch (NoSuchMethodException older) {
            return null;
        }
        try {
            found.setAccessible(true);
            return found.invoke(plugin, new Object[0]);
        } catch (InvocationTargetException wrapped) {
            throw unwrapped(wrapped);
        }
    }

    private static Map key(ConfigDef.ConfigKey key) {
        Map told = new LinkedHashMap();
        told.put("name", key.name);
        told.put("type", key.type.name());
        told.put("required", Boolean.valueOf(!key.hasDefault()));
        told.put("default", key.hasDefault() ? shown(key.defaultValue) : null);
        told.put("importance", key.importance.name());
        told.put("doc", key.documentation);
        told.put("group", key.group);
        told.put("order", Integer.valueOf(key.orderInGroup));
        told.put("width", key.width.name());
        told.put("display_name", key.displayName);
        told.put("dependents", key.dependents);
        return told;
    }

    /** What the connector finds of each of its keys. */
    static List validated(String name, Map settings) throws Exception {
        Config found = ((Connector) made(name)).validate(settings);
        List told = new ArrayList();
        Iterator each = found.configValues().iterator();
        while (each.hasNext()) {
            ConfigValue value = (ConfigValue) each.next();
            Map one = new LinkedHashMap();
            one.put("name", value.name());
            one.put("value", shown(value.value()));
            one.put("errors", value.errorMessages());
            List offered = new ArrayList();
            Iterator recommended = value.recommendedValues().iterator();
            while (recommended.hasNext()) {
                offered.add(shown(recommended.next()));
            }
            one.put("recommended", offered);
            one.put("visible", Boolean.valueOf(value.visible()));
            told.add(one);
        }
        return told;
    }

    private static Object shown(Object value) {
        if (value instanceof Class) {
            return ((Class) value).getName();
        }
        return value instanceof Password ? value.toString() : value;
    }

    /** The settings of each task, its class among them. */
    static List divided(String name, Map settings, int most, Wire wire) throws Exception {
        Connector connector = (Connector) made(name);
        Contexts contexts = new Contexts(wire, settings);
        try {
            connector.initialize(contexts.ofConnector(connector));
            connector.start(new HashMap(settings));
            List divided = new ArrayList();
            Iterator each = connector.taskConfigs(most).iterator();
            while (each.hasNext()) {
                Map one = new HashMap((Map) each.next());
                one.put("task.class", connector.taskClass().getName());
                divided.add(one);
            }
            return divided;
        } finally {
            connector.stop();
            contexts.close();
        }
    }
}
