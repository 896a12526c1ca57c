// hack, cluster/build: Go modules of the cluster's binaries, and their builds. Of other folders imports hack/cache only.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Binaries of one go.mod. Families are separate because their dependencies contradict each other. */
export type FamilyName =
  | 'kubernetes'
  | 'containerd'
  | 'runc'
  | 'coredns'
  | 'kube-router'
  | 'helm'
  | 'kwok'
  | 'gvisor'
  | 'csi'
  | 'dra'
  | 'versitygw'
  | 'crane'
  | 'govulncheck'
  | 'agent-sandbox'
  | 'gitops'
  | 'kueue'
  | 'kustomize-controller';

/** Build of one family with `go install tool`. */
export interface Family {
  readonly name: FamilyName;
  /** The module whose version is the family's version. */
  readonly module: string;
  readonly binaries: readonly string[];
  /** Names by `go install`, where they differ from ours. */
  readonly rename: Readonly<Record<string, string>>;
  readonly cgo: boolean;
  readonly tags: readonly string[];
  /** Local sources among the tools, relative to the family's folder; they count in its cache key. */
  readonly sources: readonly string[];
  /** Variables set by the linker, as `path=value`. */
  stamps(version: string): string[];
}

function kubernetesStamps(version: string): string[] {
  const [major = '', minor = ''] = version.replace(/^v/, '').split('.');
  const values = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
  return ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((path) =>
    Object.entries(values).map(([name, value]) => `${path}.${name}=${value}`),
  );
}

const plain = { rename: {}, cgo: false, tags: [], sources: [], stamps: (): string[] => [] };

/** Largest first, because the largest decides how long a cold build takes. */
export const families: readonly Family[] = [
  {
    ...plain,
    name: 'kubernetes',
    module: 'k8s.io/kubernetes',
    binaries: ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubelet', 'kube-proxy', 'kubectl'],
    rename: { server: 'etcd' },
    stamps: kubernetesStamps,
  },
  {
    ...plain,
    name: 'containerd',
    module: 'github.com/containerd/containerd/v2',
    binaries: ['containerd', 'containerd-shim-runc-v2', 'ctr'],
    stamps: (version) => [`github.com/containerd/containerd/v2/version.Version=${version}`],
  },
  { ...plain, name: 'runc', module: 'github.com/opencontainers/runc', binaries: ['runc'], cgo: true, tags: ['seccomp'] },
  // Our main package has the plugins of the Corefile only; its client-go is that of Kubernetes, which is compiled anyway.
  { ...plain, name: 'coredns', module: 'github.com/coredns/coredns', binaries: ['coredns'], sources: ['coredns'] },
  {
    ...plain,
    name: 'kube-router',
    module: 'github.com/cloudnativelabs/kube-router/v2',
    binaries: ['kube-router'],
    stamps: (version) => [`github.com/cloudnativelabs/kube-router/v2/pkg/version.Version=${version}`],
  },
  {
    ...plain,
    name: 'helm',
    module: 'helm.sh/helm/v4',
    binaries: ['helm'],
    stamps: (version) => [`helm.sh/helm/v4/internal/version.version=${version}`],
  },
  { ...plain, name: 'kwok', module: 'sigs.k8s.io/kwok', binaries: ['kwok'] },
  // Only for the RuntimeClass gvisor.
  {
    ...plain,
    name: 'gvisor',
    module: 'gvisor.dev/gvisor',
    binaries: ['runsc', 'containerd-shim-runsc-v1'],
    sources: ['containerd-shim-runsc-v1'],
  },
  // Only for volumes and snapshots of them; the driver is local.
  {
    ...plain,
    name: 'csi',
    module: 'github.com/kubernetes-csi/external-snapshotter/v8',
    binaries: ['agentfleet-csi', 'csi-provisioner', 'csi-snapshotter', 'snapshot-controller'],
    rename: { driver: 'agentfleet-csi' },
    sources: ['driver'],
  },
  // Only for devices; the driver is the example of Kubernetes, whose GPUs are names.
  { ...plain, name: 'dra', module: 'sigs.k8s.io/dra-example-driver', binaries: ['dra-example-kubeletplugin'] },
  // Not of the cluster: S3 for tests and for fleets without a cloud. It goes into an image, so it must stay static.
  {
    ...plain,
    name: 'versitygw',
    module: 'github.com/versity/versitygw',
    binaries: ['versitygw'],
    stamps: (version) => [`main.Version=${version}`],
  },
  // Not of the cluster: for pushing releases, and in tests a registry too (`crane registry serve`).
  { ...plain, name: 'crane', module: 'github.com/google/go-containerregistry', binaries: ['crane'] },
  // Not of the cluster: a gate of releases.
  { ...plain, name: 'govulncheck', module: 'golang.org/x/vuln', binaries: ['govulncheck'] },
  // Not of the cluster: the peer in `bench:operator`.
  { ...plain, name: 'agent-sandbox', module: 'sigs.k8s.io/agent-sandbox', binaries: ['agent-sandbox-controller'] },
  // Not of the cluster: judgements of GitOps tools about objects, by their own libraries.
  { ...plain, name: 'gitops', module: 'github.com/fluxcd/cli-utils', binaries: ['object-health'], sources: ['object-health'] },
  // Not of the cluster: queues tasks in tests; without its controller, only its definitions are read from the module.
  { ...plain, name: 'kueue', module: 'sigs.k8s.io/kueue', binaries: ['kueue'] },
  // Not of the cluster: what applies manifests from Git for tests.
  { ...plain, name: 'kustomize-controller', module: 'github.com/fluxcd/kustomize-controller', binaries: ['kustomize-controller'] },
];

/** The family with this name. */
export function family(name: FamilyName): Family {
  const found = families.find((candidate) => candidate.name === name);
  if (!found) throw new Error(`no family ${name}`);
  return found;
}

/** The family that makes a binary, if any does. */
export function familyOf(binary: string): Family | undefined {
  return families.find((candidate) => candidate.binaries.includes(binary));
}

/** The folder with the family's go.mod and go.sum. */
export function familyDir(name: FamilyName): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

/** The version of `module` that the text of a go.mod requires. Throws when it requires none. */
export function requiredVersion(goMod: string, module: string): string {
  const escaped = module.replaceAll(/[.\\]/g, '\\$&');
  const found = new RegExp(`^\\s*(?:require\\s+)?${escaped}\\s+(v\\S+)`, 'm').exec(goMod);
  if (!found?.[1]) throw new Error(`go.mod requires no version of ${module}`);
  return found[1];
}

/** Returns the family's version from its go.mod, such as `v1.36.3`. */
export async function familyVersion(wanted: Family): Promise<string> {
  return requiredVersion(await readFile(join(familyDir(wanted.name), 'go.mod'), 'utf8'), wanted.module);
}

/** The arguments of `go` that build the family; the environment is in `buildEnvironment`. */
export function buildArguments(wanted: Family, version: string): string[] {
  const stamps = wanted.stamps(version).map((stamp) => `-X ${stamp}`);
  const tags = wanted.tags.length > 0 ? [`-tags=${wanted.tags.join(',')}`] : [];
  return ['install', '-mod=readonly', '-trimpath', ...tags, `-ldflags=${['-s', '-w', ...stamps].join(' ')}`, 'tool'];
}
