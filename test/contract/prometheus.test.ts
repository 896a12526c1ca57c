// The process of the operator under the chart's rules, scraped by a real Prometheus with the rules that the chart ships: nothing fires
// while all is well, and planted faults do. Only how long an alert waits is shortened.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../hack/cluster/base/ports.ts';
import { prometheusPrograms, startPrometheus, type Alert, type Prometheus } from '../../hack/test/prometheus.ts';
import { serveEndpoints, type Endpoints } from '@agentfleet/kube';
import { operatorMetricsAudience } from '@agentfleet/protocol/tokens';
import { parseTraceparent, within } from '@agentfleet/protocol/tracing';
import { scrape } from '@agentfleet/protocol/tracing/scrape';
import { createMetrics } from '../../agent-image/src/http/metrics.ts';
import { Stage } from '../../inference-image/src/gateway/testing/harness.ts';
import { ruleGroups } from '../monitoring/catalogue.ts';
import { collection, connect, createNamespace, enabled, install, until, type Server } from './api/server.ts';
import { minimalPool } from './api/poolExamples.ts';
import { operatorKubeconfig } from './operatorAccount.ts';

const main = fileURLToPath(new URL('../../operator/src/main.ts', import.meta.url));

describe.runIf(enabled)('Prometheus', () => {
  let server: Server;
  let namespace: string;
  let folder: string;
  let operator: ChildProcess;
  let prometheus: Prometheus;
  let release: () => Promise<void>;

  const firing = async (): Promise<readonly Alert[]> => (await prometheus.alerts()).filter(({ state }) => state === 'firing');
  const fires = (name: string): Promise<void> =>
    until(`${name} fires`, async () => (await firing()).some(({ labels }) => labels['alertname'] === name));
  const value = async (expression: string): Promise<string | undefined> => (await prometheus.query(expression))[0]?.value;

  /** A token of an account that may read metrics, as a Prometheus of the cluster has it. */
  const readerToken = async (): Promise<string> => {
    const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    await server.ask('POST', accounts, { body: { metadata: { name: 'prometheus' } } });
    const { body } = await server.ask('POST', `${accounts}/prometheus/token`, { body: { spec: { audiences: [operatorMetricsAudience] } } });
    return (body.status as { token: string }).token;
  };

  beforeAll(async () => {
    server = await connect();
    await install(server);
    namespace = await createNamespace(server);
    folder = await mkdtemp(join(tmpdir(), 'prometheus-'));
    const kubeconfig = join(folder, 'kubeconfig');
    const account = await operatorKubeconfig(server, namespace);
    release = () => account.close();
    await writeFile(kubeconfig, account.text);
    const [metrics, probes] = [await freePort(), await freePort()];
    const images = Object.fromEntries(
      ['AGENT', 'INFERENCE', 'SANDBOX', 'TOOLS'].map((part) => [`AGENTFLEET_${part}_IMAGE`, `none.invalid/${part.toLowerCase()}:1`]),
    );
    operator = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, `--kubeconfig=${kubeconfig}`], {
      stdio: 'ignore',
      env: {
        ...process.env,
        ...images,
        POD_NAME: 'operator-0',
        POD_NAMESPACE: namespace,
        AGENTFLEET_METRICS_PORT: String(metrics),
        AGENTFLEET_PROBES_PORT: String(probes),
        AGENTFLEET_METRICS_READERS: `system:serviceaccount:${namespace}:prometheus`,
      },
    });
    const credentials = await readerToken();
    const target = { static_configs: [{ targets: [`127.0.0.1:${metrics}`] }], authorization: { type: 'Bearer', credentials } };
    prometheus = await startPrometheus({
      folder,
      // Named like the job of the chart's PodMonitor.
      scrapeConfigs: [{ job_name: `${namespace}/agentfleet-operator`, ...target }],
      groups: (await ruleGroups()).map((group) => ({
        ...group,
        rules: group.rules.map((rule) => (rule.for === undefined ? rule : { ...rule, for: '3s' })),
      })),
    });
    await until('the operator is scraped and leads', async () => (await value('leader_election_master_status')) === '1');
  });
  afterAll(async () => {
    operator.kill('SIGKILL');
    await prometheus.stop();
    await release();
    // A killed operator leaves its Lease, which other files would take for one that runs.
    await server.ask('DELETE', `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/agentfleet-operator`);
    await server.ask('DELETE', `/api/v1/namespaces/${namespace}`);
    await rm(folder, { recursive: true });
  });

  it('finds no fault in the rules that the chart ships', async () => {
    const { promtool } = await prometheusPrograms();
    const { stdout } = await execa(promtool, ['check', 'rules', join(folder, 'rules.yml')]);
    expect(stdout).toMatch(/SUCCESS: \d+ rules found/);
  });

  it('reads the metrics of the operator, and no alert fires for a healthy one', async () => {
    await until('there are its caches', async () => Number((await value('count({__name__=~"agentfleet_.+"})')) ?? 0) > 0);
    const own = [
      'AgentFleetOperatorDown',
      'AgentFleetNoLeader',
      'AgentFleetTwoLeaders',
      'AgentFleetReconcilePanics',
      'AgentFleetReconcileStuck',
    ];
    const ofOperator = async (): Promise<readonly string[]> =>
      (await firing()).map(({ labels }) => labels['alertname'] ?? '').filter((name) => own.includes(name));
    // Until the first scrape there was no operator.
    await until('what fired before the first scrape is over', async () => (await ofOperator()).length === 0);
    // Longer than alerts wait here.
    await new Promise((resolve) => setTimeout(resolve, 5000));
    expect(await ofOperator()).toEqual([]);
  });

  it('fires for a pool that cannot get ready, by its name and reason, with a runbook', async () => {
    const body = {
      ...minimalPool,
      metadata: { name: 'stuck', namespace },
      spec: { ...(minimalPool['spec'] as object), energyModelRef: { name: 'absent' } },
    };
    const { status } = await server.ask('POST', collection(namespace, 'expertpools'), { body });
    expect(status).toBe(201);
    await fires('AgentFleetPoolNotReady');
    const alert = (await firing()).find(({ labels }) => labels['alertname'] === 'AgentFleetPoolNotReady');
    expect(alert).toMatchObject({
      labels: { pool: `${namespace}/stuck`, severity: 'warning' },
      annotations: { runbook_url: expect.stringContaining('docs/runbooks/AgentFleetPoolNotReady.md') as string },
    });
  });

  it('fires when the operator dies', async () => {
    operator.kill('SIGKILL');
    await fires('AgentFleetOperatorDown');
    await fires('AgentFleetNoLeader');
  });
});

describe.runIf(enabled)('exemplars', () => {
  const traceId = 'ab'.repeat(16);
  const traceparent = (flags: string): string => `00-${traceId.replaceAll(/b$/g, flags === '01' ? 'b' : 'c')}-${'cd'.repeat(8)}-${flags}`;
  let folder: string;
  let gateway: Stage;
  let worker: Endpoints;
  let prometheus: Prometheus;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'exemplars-'));
    gateway = await Stage.open();
    // Nobody answers there: the gateway refuses with its own words, which takes its time as an answer does.
    await gateway.models({ baseURLs: ['http://127.0.0.1:9/v1'], credentialFile: gateway.path('key') });
    await gateway.start();
    const metrics = createMetrics();
    worker = await serveEndpoints({ port: 0, host: '127.0.0.1', scrape: (accept) => scrape(metrics.registry, accept) });
    for (const sampled of [true, false])
      within({}, parseTraceparent(traceparent(sampled ? '01' : '00')), undefined, () => metrics.firstAct(sampled ? 1 : 40));
    const targets = [new URL(gateway.origin).host, `127.0.0.1:${worker.port}`];
    prometheus = await startPrometheus({ folder, scrapeConfigs: [{ job_name: 'fleet', static_configs: [{ targets }] }], groups: [] });
    await gateway.ask({}, { traceparent: traceparent('01') });
    await gateway.ask({}, { traceparent: traceparent('00') });
    await gateway.ask();
  });
  afterAll(async () => {
    await prometheus.stop();
    await Promise.all([gateway.close(), worker.close()]);
    await rm(folder, { recursive: true });
  });

  it.each(['agentfleet_gateway_request_seconds_bucket', 'agentfleet_worker_task_first_act_seconds_bucket'])(
    'of %s lead Prometheus from a bucket to the trace that was sampled, and to no other one',
    async (name) => {
      await until(`${name} has an exemplar`, async () => (await prometheus.exemplars(name)).length > 0);
      for (const { series, labels } of await prometheus.exemplars(name)) {
        expect(series).toMatchObject({ __name__: name, job: 'fleet' });
        expect(labels).toEqual({ trace_id: traceId });
      }
    },
  );

  it('leave counters under their names', async () => {
    await until('requests are counted', async () => (await prometheus.query('sum(agentfleet_gateway_requests_total) == 3')).length === 1);
  });
});
