import { describe, expect, it } from 'vitest';
import { ConfigError } from '@agentfleet/protocol/environment';
import { readConfig } from './config.ts';

const whole = {
  POD_NAMESPACE: 'agentfleet-system',
  POD_NAME: 'operator-0',
  AGENTFLEET_AGENT_IMAGE: 'example.com/agent:1',
  AGENTFLEET_INFERENCE_IMAGE: 'example.com/inference@sha256:0',
  AGENTFLEET_SANDBOX_IMAGE: 'example.com/sandbox:1',
  AGENTFLEET_TOOLS_IMAGE: 'example.com/tools:1',
};

function faultsOf(env: Readonly<Record<string, string>>, args: readonly string[] = []): readonly string[] {
  try {
    readConfig(env, args);
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
}

describe('readConfig', () => {
  it('takes the namespace of Prometheus, and none by default', () => {
    expect(readConfig({ ...whole, AGENTFLEET_PROMETHEUS_NAMESPACE: 'monitoring' }).prometheusNamespace).toBe('monitoring');
    expect(readConfig(whole)).not.toHaveProperty('prometheusNamespace');
    expect(faultsOf({ ...whole, AGENTFLEET_PROMETHEUS_NAMESPACE: 'not a name' })[0]).toContain('AGENTFLEET_PROMETHEUS_NAMESPACE');
  });

  it('takes the labels of tasks that Git owns, none when there are none', () => {
    const labelsOf = (value: string): readonly string[] | undefined =>
      readConfig({ ...whole, AGENTFLEET_TRACKING_LABELS: value }).trackingLabels;
    expect(labelsOf('example.com/app,team')).toEqual(['example.com/app', 'team']);
    expect(labelsOf('-')).toEqual([]);
    expect(faultsOf({ ...whole, AGENTFLEET_TRACKING_LABELS: 'no label' })[0]).toContain('write keys with commas between');
  });

  it('takes what the chart sets and defaults for the rest', () => {
    expect(readConfig(whole)).toEqual({
      namespace: 'agentfleet-system',
      podName: 'operator-0',
      version: '0.0.0-dev',
      images: {
        agent: 'example.com/agent:1',
        inference: 'example.com/inference@sha256:0',
        sandbox: 'example.com/sandbox:1',
        tools: 'example.com/tools:1',
      },
      platformNamespaces: [],
      egress: { registries: [], environment: {} },
      trackingLabels: ['app.kubernetes.io/instance'],
      workerClusterRole: 'agentfleet-worker',
      workerEgress: [],
      operands: {},
      tracing: null,
      authentication: 'Tokens',
      metricsReaders: [],
      gpus: { driver: 'gpu.nvidia.com', deviceClass: 'gpu.nvidia.com', migDeviceClass: 'mig.nvidia.com' },
      logLevel: 'info',
      probesPort: 8081,
      results: false,
      kueue: false,
      metricsPort: 8080,
      leaderElection: true,
      election: { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2000 },
      kubeconfig: undefined,
    });
  });

  it('reads the namespaces of the platform, and refuses what is none', () => {
    const read = (value: string): readonly string[] => readConfig({ ...whole, AGENTFLEET_PLATFORM_NAMESPACES: value }).platformNamespaces;
    expect(read('agentfleet-pools,other,other')).toEqual(['agentfleet-pools', 'other']);
    expect(faultsOf({ ...whole, AGENTFLEET_PLATFORM_NAMESPACES: 'pools,*' })).toEqual([
      'AGENTFLEET_PLATFORM_NAMESPACES: "*" is not a namespace; write names such as agentfleet-pools, separated by commas',
    ]);
  });

  it('reads the namespaces that are watched, with its own, and refuses pools of the platform in others', () => {
    const own = whole.POD_NAMESPACE;
    expect(readConfig(whole).watchNamespaces).toBeUndefined();
    expect(readConfig({ ...whole, AGENTFLEET_WATCH_NAMESPACES: 'a,b,a' }).watchNamespaces).toEqual(['a', 'b', own]);
    expect(faultsOf({ ...whole, AGENTFLEET_WATCH_NAMESPACES: 'a,B' })).toEqual([
      'AGENTFLEET_WATCH_NAMESPACES: "B" is not a namespace; write names such as agentfleet-pools, separated by commas',
    ]);
    expect(faultsOf({ ...whole, AGENTFLEET_WATCH_NAMESPACES: 'a', AGENTFLEET_PLATFORM_NAMESPACES: 'a,pools' })).toEqual([
      'AGENTFLEET_PLATFORM_NAMESPACES: pools is not watched; add it to watch.namespaces of the chart, or take it out',
    ]);
  });

  it('names every variable that is wrong at once, and its cure', () => {
    expect(faultsOf({})).toHaveLength(6);
    expect(faultsOf({ ...whole, POD_NAMESPACE: 'A_B', AGENTFLEET_LOG_LEVEL: 'loud' })).toEqual([
      'POD_NAMESPACE: "A_B" is not a name of Kubernetes; use a-z, 0-9 and -',
      'AGENTFLEET_LOG_LEVEL: "loud" is not one of debug, info, warn, error, silent',
    ]);
  });

  it.each([
    ['AGENTFLEET_METRICS_PORT', '65536'],
    ['AGENTFLEET_METRICS_PORT', '-1'],
    ['AGENTFLEET_LEADER_ELECTION', 'yes'],
    ['AGENTFLEET_AUTHENTICATION', 'Basic'],
    ['AGENTFLEET_METRICS_READERS', 'prometheus'],
    ['AGENTFLEET_ELECTION', '10/15/2'],
    ['AGENTFLEET_ELECTION', '6/4'],
    ['AGENTFLEET_TOOLS_IMAGE', 'two words'],
  ])('refuses %s=%s', (name, value) => {
    expect(faultsOf({ ...whole, [name]: value })[0]).toContain(`${name}: "${value}"`);
  });

  it.each([[['--kubeconfig', 'relative']], [['--unknown']], [['word']]])('refuses the arguments %j', (args) => {
    expect(faultsOf(whole, args)[0]).toMatch(/^command line: .*--kubeconfig PATH$/);
  });

  it('takes a kubeconfig', () => {
    expect(readConfig({ ...whole, AGENTFLEET_LEADER_ELECTION: 'false' }, ['--kubeconfig', '/etc/k'])).toMatchObject({
      kubeconfig: '/etc/k',
      leaderElection: false,
    });
  });

  it.each([
    ['{', 'it is not JSON'],
    ['{}', 'it is not a list of rules'],
    ['[{}]', 'rule 0 opens everything'],
    ['[{"ports":[{"port":1}]},{"from":[]}]', 'rule 1 has from'],
  ])('refuses the egress of workers %s', (text, words) => {
    expect(faultsOf({ ...whole, AGENTFLEET_WORKER_EGRESS: text })[0]).toContain(`AGENTFLEET_WORKER_EGRESS: ${words}`);
  });

  it('knows the address of its own Service, for sandboxes to try', () => {
    const port = { AGENTFLEET_OPERATOR_METRICS_SERVICE_PORT: '8080' };
    const sentinel = (host: string) => readConfig({ ...whole, AGENTFLEET_OPERATOR_METRICS_SERVICE_HOST: host, ...port }).sentinel;
    expect([sentinel('10.0.0.7'), sentinel('fd00::7'), sentinel('')]).toEqual(['10.0.0.7:8080', '[fd00::7]:8080', undefined]);
  });

  it('knows the address of the API server in a pod, where it is one', () => {
    const pod = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443' };
    expect(readConfig({ ...whole, ...pod }).apiService).toEqual({ address: '10.96.0.1', port: 443 });
    expect(readConfig({ ...whole, ...pod, KUBERNETES_SERVICE_HOST: 'api.example.com' })).not.toHaveProperty('apiService');
  });
});
