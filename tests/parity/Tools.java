import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/**
 * Kafka's command-line tools, one after the other in one JVM, so that each costs no start of its own.
 *
 * A line of JSON per command: {"class": ..., "words": [...], "stdin": ...} is answered by
 * {"code": ..., "out": ..., "err": ...}. A tool ends where it would have ended its process: at its
 * first Exit.exit. What it prints afterwards, while the exception that stands for the exit passes
 * through its handlers, is thrown away. Its shutdown hooks run when it has ended, as in a process.
 */
public final class Tools {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Stands for the end of the process; an Error, since tools catch exceptions. */
    private static final class Ended extends Error {
        Ended() {
            super("the tool has ended", null, false, false);
        }
    }

    /** What one command has printed, and how it ended. */
    private static final class Run {
        final ByteArrayOutputStream out = new ByteArrayOutputStream();
        final ByteArrayOutputStream err = new ByteArrayOutputStream();
        final List<Runnable> hooks = new ArrayList<>();
        Integer code;

        synchronized void end(int status) {
            if (code == null) {
                System.out.flush();
                System.err.flush();
                code = status;
                outLength = out.size();
                errLength = err.size();
            }
        }

        int outLength;
        int errLength;

        String text(ByteArrayOutputStream stream, int from, int to) {
            return new String(stream.toByteArray(), from, to - from, StandardCharsets.UTF_8);
        }
    }

    private static volatile Run current;

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        BufferedReader commands =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Exit.setExitProcedure((status, message) -> {
            current.end(status);
            throw new Ended();
        });
        Exit.setHaltProcedure((status, message) -> {
            current.end(status);
            throw new Ended();
        });
        Exit.setShutdownHookAdder((name, hook) -> current.hooks.add(hook));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            answers.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static ObjectNode answer(JsonNode command) throws Exception {
        Run run = new Run();
        current = run;
        System.setOut(new PrintStream(run.out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(run.err, true, StandardCharsets.UTF_8));
        byte[] stdin = command.get("stdin").asText().getBytes(StandardCharsets.UTF_8);
        System.setIn(new ByteArrayInputStream(stdin));
        String[] words = JSON.convertValue(command.get("words"), String[].class);
        Class<?> tool = Class.forName(command.get("class").asText());
        try {
            tool.getMethod("main", String[].class).invoke(null, (Object) words);
            run.end(0);
        } catch (InvocationTargetException error) {
            if (run.code == null) {
                System.err.print("Exception in thread \"main\" ");
                error.getCause().printStackTrace();
                run.end(1);
            }
        }
        int printed = run.out.size();
        for (Runnable hook : run.hooks) {
            hook.run();
        }
        System.out.flush();
        ObjectNode told = JSON.createObjectNode();
        told.put("code", run.code);
        told.put("out", run.text(run.out, 0, run.outLength)
            + run.text(run.out, printed, run.out.size()));
        told.put("err", run.text(run.err, 0, run.errLength));
        return told;
    }
}
