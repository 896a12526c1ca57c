import { join } from 'node:path';
import { dump } from 'js-yaml';
import { pauseImage } from '../images/images.ts';
import { network } from '../base/network.ts';
import { kubeletPort } from '../base/ports.ts';
import type { Surroundings } from './control-plane.ts';
import type { Daemon } from './daemon.ts';

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Name that containerd knows gVisor by; a RuntimeClass names it as its handler. */
export const gvisorHandler = 'runsc';

/** Folder in which containerd looks for gVisor's shim. Empty until gVisor is requested: then pods of the handler cannot start. */
export function gvisorFolder({ state }: Pick<Surroundings['layout'], 'state'>): string {
  return join(state, 'gvisor');
}

/** Folder in which device drivers describe a device's parts in a container. Removed with the node. */
export function cdiFolder({ run }: Pick<Surroundings['layout'], 'run'>): string {
  return join(run, 'cdi');
}

/** containerd's configuration. Its sandboxes keep their network namespaces below the state folder, which identifies them. */
export function containerdConfig({ layout, binaries }: Pick<Surroundings, 'layout' | 'binaries'>): string {
  return `version = 3
root = "${layout.containerdRoot}"
state = "${layout.containerdState}"
disabled_plugins = [
  "io.containerd.snapshotter.v1.blockfile", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.erofs", "io.containerd.snapshotter.v1.zfs", "io.containerd.nri.v1.nri",
  "io.containerd.internal.v1.opt",
]
[grpc]
  address = "${layout.containerdSocket}"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "${pauseImage}"
[plugins."io.containerd.cri.v1.runtime"]
  # Without CAP_SYS_RESOURCE nobody may lower an OOM score; unrestricted, no sandbox would start at all.
  restrict_oom_score_adj = true
  enable_cdi = true
  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi", "${cdiFolder(layout)}"]
  netns_mounts_under_state_dir = true
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["/usr/lib/cni"]
  conf_dir = "${join(layout.config, 'cni')}"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
  BinaryName = "${binaries.path('runc')}"
  SystemdCgroup = false
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.${gvisorHandler}]
  runtime_type = "io.containerd.runsc.v1"
  runtime_path = "${join(gvisorFolder(layout), 'containerd-shim-runsc-v1')}"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.${gvisorHandler}.options]
  TypeUrl = "io.containerd.runsc.v1.options"
  ConfigPath = "${join(gvisorFolder(layout), 'runsc.toml')}"
`;
}

/** The pod network: one bridge, addresses from the node's range, port mappings for host ports. */
export function cniConfig(runDir: string): string {
  const ipam = {
    type: 'host-local',
    dataDir: join(runDir, 'ipam'),
    ranges: [[{ subnet: network.nodePodCidr }]],
    routes: [{ dst: '0.0.0.0/0' }],
  };
  const bridge = { type: 'bridge', bridge: network.bridge, isGateway: true, ipMasq: true, hairpinMode: true, ipam };
  const portmap = { type: 'portmap', capabilities: { portMappings: true }, snat: true };
  return JSON.stringify({ cniVersion: '1.0.0', name: network.name, plugins: [bridge, portmap] }, null, 2);
}

/** containerd with its shim and runc; it reads the pod network's configuration from our folder only. */
export function containerd(around: Surroundings): Daemon {
  const { layout, binaries } = around;
  const path = join(layout.config, 'containerd.toml');
  return {
    name: 'containerd',
    binary: binaries.path('containerd'),
    args: ['--config', path, '--log-level', 'info'],
    env: { PATH: `${binaries.folder('containerd')}:${systemPath}` },
    files: [
      { path, text: containerdConfig(around) },
      { path: join(layout.config, 'cni', '10-agentfleet.conflist'), text: cniConfig(layout.run) },
    ],
  };
}

/** The kubelet's configuration. Thresholds are absolute, because a large disk looks nearly full by percentage. */
export function kubeletConfig({ layout, ports }: Pick<Surroundings, 'layout' | 'ports'>): string {
  return dump({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: '0.0.0.0',
    port: kubeletPort,
    readOnlyPort: 0,
    healthzBindAddress: '127.0.0.1',
    healthzPort: ports.kubeletHealth,
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: join(layout.pki, 'ca.crt') } },
    authorization: { mode: 'Webhook' },
    tlsCertFile: join(layout.pki, 'kubelet.crt'),
    tlsPrivateKeyFile: join(layout.pki, 'kubelet.key'),
    containerRuntimeEndpoint: `unix://${layout.containerdSocket}`,
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    failSwapOn: false,
    oomScoreAdj: 0,
    podPidsLimit: 1024,
    maxPods: 110,
    // A pod whose claim could not be prepared, because the API server did not know its place yet, is retried only then.
    syncFrequency: '10s',
    resolvConf: join(layout.config, 'resolv.conf'),
    clusterDNS: [network.dnsServiceIp],
    clusterDomain: 'cluster.local',
    makeIPTablesUtilChains: false,
    // An image that was pulled from a registry once would be asked for there under each other name that it was imported with.
    imagePullCredentialsVerificationPolicy: 'NeverVerify',
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    evictionHard: { 'memory.available': '200Mi', 'nodefs.available': '1Gi', 'nodefs.inodesFree': '1%', 'imagefs.available': '1Gi' },
    evictionPressureTransitionPeriod: '30s',
    serializeImagePulls: false,
    podLogsDir: join(layout.logs, 'pods'),
    volumePluginDir: join(layout.state, 'volume-plugins'),
    shutdownGracePeriod: '0s',
  });
}

/** The kubelet. Its root folder stays at the default, because drivers of devices and volumes look for it there. */
export function kubelet(around: Surroundings & { readonly resolvConf: string }): Daemon {
  const { layout, binaries, nodeName, address } = around;
  const kubeconfig = join(layout.pki, 'kubelet.kubeconfig');
  const path = join(layout.config, 'kubelet.yaml');
  return {
    name: 'kubelet',
    binary: binaries.path('kubelet'),
    args: [
      `--config=${path}`,
      `--kubeconfig=${kubeconfig}`,
      `--hostname-override=${nodeName}`,
      `--node-ip=${address}`,
      `--root-dir=${layout.kubeletRoot}`,
    ],
    files: [
      { path, text: kubeletConfig(around) },
      { path: join(layout.config, 'resolv.conf'), text: around.resolvConf },
    ],
    inputs: [kubeconfig, join(layout.pki, 'kubelet.crt'), join(layout.pki, 'ca.crt')],
  };
}

/** kube-proxy with nftables; limits of connection tracking are the host's business and stay as they are. */
export function kubeProxy({ layout, binaries, ports, nodeName }: Surroundings): Daemon {
  const kubeconfig = join(layout.pki, 'kube-proxy.kubeconfig');
  const path = join(layout.config, 'kube-proxy.yaml');
  const text = dump({
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    clientConnection: { kubeconfig },
    hostnameOverride: nodeName,
    clusterCIDR: network.podCidr,
    healthzBindAddress: `127.0.0.1:${ports.proxyHealth}`,
    metricsBindAddress: `127.0.0.1:${ports.proxyMetrics}`,
    oomScoreAdj: 0,
    conntrack: { maxPerCore: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  });
  return {
    name: 'kube-proxy',
    binary: binaries.path('kube-proxy'),
    args: [`--config=${path}`],
    files: [{ path, text }],
    inputs: [kubeconfig],
  };
}

/** kube-router as the enforcer of NetworkPolicy only: routes are the bridge's, services are kube-proxy's. */
export function kubeRouter({ layout, binaries, ports, nodeName }: Surroundings): Daemon {
  const kubeconfig = join(layout.pki, 'kube-router.kubeconfig');
  return {
    name: 'kube-router',
    binary: binaries.path('kube-router'),
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--hostname-override=${nodeName}`,
      '--run-firewall=true',
      '--run-router=false',
      '--run-service-proxy=false',
      '--enable-cni=false',
      `--service-cluster-ip-range=${network.serviceCidr}`,
      '--health-addr=127.0.0.1',
      `--health-port=${ports.routerHealth}`,
    ],
    inputs: [kubeconfig],
  };
}
