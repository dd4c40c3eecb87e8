import static org.codelibs.opensearch.runner.OpenSearchRunner.newConfigs;

import org.codelibs.opensearch.runner.OpenSearchRunner;

/** One OpenSearch node, on the port and in the folder that are given, until it is killed. */
public final class Node {
    public static void main(String[] args) throws Exception {
        OpenSearchRunner runner = new OpenSearchRunner();
        runner.onBuild((number, settings) -> {
            settings.put("http.port", args[0]);
            settings.put("transport.port", "0");
            settings.put("discovery.type", "single-node");
            settings.put("cluster.routing.allocation.disk.threshold_enabled", false);
        });
        runner.build(newConfigs().basePath(args[1]).numOfNode(1).clusterName("tests").useLogger());
        runner.ensureYellow();
        System.out.println("node ready");
        Thread.currentThread().join();
    }
}
