package headrace.pipelines.connect.java;

import java.io.DataInputStream;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.codehaus.janino.JavaSourceClassLoader;

/**
 * Java connectors of this JVM: a connection to its port is a conversation with one of them.
 *
 * A conversation begins with the secret and the jars that it needs. Each set of jars has a class
 * loader whose parent has the JDK alone, so neither the jars of Spark nor those of other
 * connectors are seen. The classes beside this one are compiled inside of that loader, against its
 * own Connect; only types of the JDK go over the border.
 */
public final class Agent extends Thread {
    private static final String CONVERSATION = "headrace.pipelines.connect.java.Conversation";

    private final ServerSocket server;
    private final File sources;
    private final byte[] secret;
    private final Map loaders = new HashMap(); // by their jars

    /** `sources` is the folder from which the packages of the classes count. */
    public Agent(String sources, String secret) throws IOException {
        super("Java connectors");
        this.sources = new File(sources);
        this.secret = secret.getBytes(StandardCharsets.UTF_8);
        this.server = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
        setDaemon(true);
    }

    public int port() {
        return server.getLocalPort();
    }

    /** A JVM of its own: the secret comes in, the port goes out, and it ends with its input. */
    public static void main(String[] arguments) throws IOException {
        Agent agent = new Agent(arguments[0], new DataInputStream(System.in).readLine());
        agent.start();
        System.out.println(agent.port());
        System.out.flush();
        System.setOut(System.err); // what connectors print is for people
        while (System.in.read() >= 0) {
            continue;
        }
        System.exit(0);
    }

    public void run() {
        while (true) {
            try {
                final Socket socket = server.accept();
                Thread thread = new Thread("Java connector") {
                    public void run() {
                        converse(socket);
                    }
                };
                thread.setDaemon(true);
                thread.start();
            } catch (IOException closed) {
                return;
            }
        }
    }

    private void converse(Socket socket) {
        try {
            socket.setTcpNoDelay(true);
            DataInputStream in = new DataInputStream(socket.getInputStream());
            byte[] told = new byte[in.readUnsignedShort()];
            in.readFully(told);
            if (MessageDigest.isEqual(told, secret)) {
                String[] jars = new String[in.readInt()];
                for (int i = 0; i < jars.length; i++) {
                    jars[i] = in.readUTF();
                }
                ClassLoader loader = loader(jars);
                Thread.currentThread().setContextClassLoader(loader.getParent());
                Class kind = loader.loadClass(CONVERSATION);
                ((Consumer) kind.getConstructor(new Class[0]).newInstance(new Object[0]))
                        .accept(socket);
            }
        } catch (Throwable fault) {
            fault.printStackTrace();
        } finally {
            try {
                socket.close();
            } catch (IOException gone) {
                return;
            }
        }
    }

    private synchronized ClassLoader loader(String[] jars) throws IOException {
        Object key = Arrays.asList(jars);
        ClassLoader found = (ClassLoader) loaders.get(key);
        if (found == null) {
            URL[] urls = new URL[jars.length];
            for (int i = 0; i < jars.length; i++) {
                urls[i] = new File(jars[i]).toURI().toURL();
            }
            ClassLoader isolated =
                    new URLClassLoader(urls, ClassLoader.getPlatformClassLoader());
            found = new JavaSourceClassLoader(isolated, new File[] {sources}, "UTF-8");
            loaders.put(key, found);
        }
        return found;
    }
}
