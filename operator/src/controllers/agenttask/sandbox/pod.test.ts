import { describe, expect, test } from 'vitest';
import { sandboxNetworkPolicy, sandboxPod, type SandboxPodInput } from './pod.ts';

const input: SandboxPodInput = {
  name: 'fix-parser-1',
  namespace: 'team-a',
  task: 'fix-parser',
  sandboxImage: 'localhost/agentfleet/sandbox:1',
  toolsImage: 'python:3',
  clients: ['system:serviceaccount:pool:worker'],
  issuer: 'https://kubernetes.default.svc',
};

const spec = sandboxPod(input).spec;
const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];

describe('sandbox pod', () => {
  test('satisfies Pod Security restricted in every container', () => {
    expect(spec?.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(spec?.volumes?.every((volume) => volume.emptyDir !== undefined || volume.configMap !== undefined)).toBe(true);
    for (const container of containers) {
      expect(container.securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    }
  });

  test('gives the sandbox no Kubernetes token, no service environment and no DNS', () => {
    expect(spec).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['127.0.0.1'] },
    });
    expect(JSON.stringify(spec)).not.toContain('serviceAccountToken');
  });

  test('probes nothing before a process can listen, so that no start is reported as Unhealthy', () => {
    const probes = containers.flatMap(({ readinessProbe, livenessProbe }) => [readinessProbe, livenessProbe].filter(Boolean));
    expect(probes.length).toBeGreaterThanOrEqual(2);
    for (const probe of probes) expect(probe?.initialDelaySeconds ?? 0).toBeGreaterThanOrEqual(1);
  });

  test('mounts the store in the keeper alone, and the link read-only beside user code', () => {
    const mounts = (name: string) => containers.find((container) => container.name === name)?.volumeMounts ?? [];
    expect(mounts('keeper').map((mount) => mount.name)).toContain('store');
    for (const name of ['tools', 'install-runner']) expect(mounts(name).map((mount) => mount.name)).not.toContain('store');
    for (const name of ['bin', 'link']) expect(mounts('tools').find((mount) => mount.name === name)?.readOnly).toBe(true);
  });

  test('brings the runner by a volume of its image, of which only the folder of the runner is mounted, read-only', () => {
    const made = sandboxPod({ ...input, runnerVolume: true }).spec;
    expect(made?.initContainers).toBeUndefined();
    expect(made?.volumes).toContainEqual({ name: 'bin', image: { reference: input.sandboxImage, pullPolicy: 'IfNotPresent' } });
    const [bin] = made?.containers.find(({ name }) => name === 'tools')?.volumeMounts ?? [];
    expect(bin).toEqual({ name: 'bin', mountPath: '/.agentfleet/bin', subPath: 'opt/agentfleet', readOnly: true });
  });

  test('lets the keeper stop a command before the kubelet evicts the pod', () => {
    const size = (name: string) => Number(spec?.volumes?.find((volume) => volume.name === name)?.emptyDir?.sizeLimit);
    const limit = (name: string) => Number(containers.flatMap(({ env }) => env ?? []).find((variable) => variable.name === name)?.value);
    for (const name of ['workspace', 'home', 'tmp']) {
      expect(size(name)).toBeGreaterThanOrEqual(1.5 * limit('AGENTFLEET_WORKSPACE_LIMIT_BYTES'));
    }
    expect(size('store')).toBeGreaterThanOrEqual(1.5 * limit('AGENTFLEET_STORE_LIMIT_BYTES'));
  });

  test('lets the keeper try the DNS of the cluster and a pod of another namespace', () => {
    const probed = sandboxPod({ ...input, resolvers: ['10.0.0.10'], sentinel: '10.0.0.7:8080' }).spec?.containers.flatMap(
      ({ env }) => env ?? [],
    );
    expect(probed).toContainEqual({ name: 'AGENTFLEET_PROBE_DNS', value: '10.0.0.10' });
    expect(probed).toContainEqual({ name: 'AGENTFLEET_PROBE_SENTINEL', value: 'sentinel=10.0.0.7:8080' });
  });

  test('hands the link key to keeper and runner from a Secret: who may read pods cannot read it', () => {
    const keys = (spec?.containers ?? []).map(({ name, env }) => [name, env?.find((variable) => variable.name === 'AGENTFLEET_LINK_KEY')]);
    expect(JSON.stringify(spec?.initContainers)).not.toContain('LINK_KEY');
    const reference = { name: 'AGENTFLEET_LINK_KEY', valueFrom: { secretKeyRef: { name: 'agentfleet-link', key: 'key' } } };
    expect(keys).toEqual([
      ['keeper', reference],
      ['tools', reference],
    ]);
    expect(sandboxPod(input).metadata?.annotations).toBeUndefined();
  });

  test('is a pure function of its input', () => {
    expect(sandboxPod(input)).toEqual(sandboxPod(structuredClone(input)));
  });
});

describe('sandbox NetworkPolicy', () => {
  test('denies all egress and lets only workers of the given namespaces in', () => {
    const { spec } = sandboxNetworkPolicy('team-a', ['pool']);
    expect(spec.policyTypes).toEqual(['Ingress', 'Egress']);
    expect(spec.egress).toEqual([]);
    expect(spec.ingress).toHaveLength(1);
    expect(spec.ingress[0]?.from).toEqual([
      {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'pool' } },
        podSelector: { matchLabels: { 'agentfleet.dev/component': 'worker' } },
      },
    ]);
  });
});
