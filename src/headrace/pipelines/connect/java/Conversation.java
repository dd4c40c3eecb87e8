package headrace.pipelines.connect.java;

import java.io.EOFException;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.errors.RetriableException;

/** Commands of Python's, one after the other, until it hangs up. */
public final class Conversation implements Consumer {
    private Wire wire;
    private Role role; // of a task that was started

    public Conversation() {
    }

    public void accept(Object socket) {
        try {
            wire = new Wire((Socket) socket);
            while (true) {
                List command = wire.command(role == null ? 0 : role.patienceMs());
                if (command == null) {
                    role.idle();
                } else {
                    wire.answer(answer(command));
                }
            }
        } catch (EOFException ended) {
            abandon();
        } catch (IOException gone) {
            abandon();
        } catch (Exception impossible) {
            impossible.printStackTrace();
        }
    }

    /** The task of a host that is gone. */
    private void abandon() {
        try {
            wire.close();
            stop();
        } catch (Exception fault) {
            fault.printStackTrace();
        }
    }

    private Object answer(List command) {
        List told = new ArrayList();
        try {
            Object done = done((String) command.get(0), command);
            told.add("done");
            told.add(done);
        } catch (Throwable fault) {
            told.add("failed");
            told.add(fault.getClass().getName());
            told.add(Boolean.valueOf(fault instanceof RetriableException));
            told.add(fault.getMessage());
            told.add(trace(fault));
        }
        return told;
    }

    private Object done(String verb, List command) throws Exception {
        if (verb.equals("describe")) {
            return Settings.described((String) command.get(1));
        } else if (verb.equals("validate")) {
            return Settings.validated((String) command.get(1), (Map) command.get(2));
        } else if (verb.equals("divide")) {
            int most = ((Long) command.get(3)).intValue();
            return Settings.divided(
                    (String) command.get(1), (Map) command.get(2), most, wire);
        } else if (verb.equals("source")) {
            role = new Source((Map) command.get(1), wire);
            return null;
        } else if (verb.equals("sink")) {
            role = new Sink((Map) command.get(1), wire);
            return null;
        } else if (verb.equals("stop")) {
            stop();
            return null;
        }
        return role.done(verb, command);
    }

    private void stop() throws Exception {
        Role ending = role;
        role = null;
        if (ending != null) {
            ending.stop();
        }
    }

    /** What is told of a record that failed: stage, class, fault, message, trace. */
    static List failure(Chain chain, Throwable fault) {
        List told = new ArrayList();
        told.add(chain.stage);
        told.add(chain.executing);
        told.add(fault.getClass().getName());
        told.add(fault.getMessage());
        told.add(trace(fault));
        return told;
    }

    static ConnectException tolerance(Chain chain, Exception fault) {
        return new ConnectException("Tolerance exceeded in error handler: " + chain.stage
                + " by " + chain.executing + ": " + fault.getMessage(), fault);
    }

    private static String trace(Throwable fault) {
        StringWriter made = new StringWriter();
        fault.printStackTrace(new PrintWriter(made, true));
        return made.toString();
    }
}
