import { join } from 'node:path';
import { dump } from 'js-yaml';
import type { Binaries } from '../build/binaries.ts';
import type { Layout } from '../base/layout.ts';
import { network } from '../base/network.ts';
import type { Ports } from '../base/ports.ts';
import { frontProxy } from '../pki/issue.ts';
import type { Daemon } from './daemon.ts';

/** Inputs of the descriptions of daemons. */
export interface Surroundings {
  readonly layout: Layout;
  readonly binaries: Binaries;
  readonly ports: Ports;
  readonly nodeName: string;
  /** The host's IPv4 address, by which pods reach the API server. */
  readonly address: string;
}

/** etcd without fsync: it survives the end of every process, but not of the machine; its data are for tests. */
export function etcd({ layout, binaries, ports }: Surroundings): Daemon {
  const pki = (name: string): string => join(layout.pki, name);
  const peer = `http://127.0.0.1:${ports.etcdPeer}`;
  const client = `https://127.0.0.1:${ports.etcd}`;
  return {
    name: 'etcd',
    binary: binaries.path('etcd'),
    args: [
      `--data-dir=${join(layout.state, 'etcd')}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      `--cert-file=${pki('etcd.crt')}`,
      `--key-file=${pki('etcd.key')}`,
      `--trusted-ca-file=${pki('etcd-ca.crt')}`,
      '--client-cert-auth',
      '--unsafe-no-fsync',
      `--quota-backend-bytes=${4 * 1024 ** 3}`,
      '--log-level=warn',
    ],
    inputs: [pki('etcd.crt'), pki('etcd-ca.crt')],
  };
}

/** Metadata of every request, once, when it is answered: enough to prove who did what, without any secret. */
const auditPolicy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'], rules: [{ level: 'Metadata' }] };

/** The aggregation layer: extension servers are asked under this certificate, with the caller in headers. */
function aggregation(pki: (name: string) => string): readonly string[] {
  return [
    `--requestheader-client-ca-file=${pki('front-proxy-ca.crt')}`,
    `--requestheader-allowed-names=${frontProxy}`,
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-uid-headers=X-Remote-Uid',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${pki(`${frontProxy}.crt`)}`,
    `--proxy-client-key-file=${pki(`${frontProxy}.key`)}`,
  ];
}

/** The API server: node and role authorisation, NodeRestriction, rights on owners, an audit log; Pod Security admission is on by default. */
export function apiServer({ layout, binaries, ports, address }: Surroundings): Daemon {
  const pki = (name: string): string => join(layout.pki, name);
  const policy = join(layout.config, 'audit-policy.yaml');
  return {
    name: 'kube-apiserver',
    binary: binaries.path('kube-apiserver'),
    args: [
      '--bind-address=0.0.0.0',
      `--secure-port=${ports.apiserver}`,
      `--advertise-address=${address}`,
      `--etcd-servers=https://127.0.0.1:${ports.etcd}`,
      `--etcd-cafile=${pki('etcd-ca.crt')}`,
      `--etcd-certfile=${pki('apiserver-etcd.crt')}`,
      `--etcd-keyfile=${pki('apiserver-etcd.key')}`,
      `--tls-cert-file=${pki('apiserver.crt')}`,
      `--tls-private-key-file=${pki('apiserver.key')}`,
      `--client-ca-file=${pki('ca.crt')}`,
      `--kubelet-certificate-authority=${pki('ca.crt')}`,
      `--kubelet-client-certificate=${pki('apiserver-kubelet.crt')}`,
      `--kubelet-client-key=${pki('apiserver-kubelet.key')}`,
      '--kubelet-preferred-address-types=InternalIP',
      `--service-cluster-ip-range=${network.serviceCidr}`,
      '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
      `--service-account-key-file=${pki('service-accounts.key')}`,
      `--service-account-signing-key-file=${pki('service-accounts.key')}`,
      ...aggregation(pki),
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement',
      '--allow-privileged=true',
      '--profiling=false',
      `--audit-policy-file=${policy}`,
      `--audit-log-path=${join(layout.logs, 'audit.log')}`,
      '--audit-log-maxsize=100',
      '--audit-log-maxbackup=2',
    ],
    files: [{ path: policy, text: dump(auditPolicy) }],
    inputs: [pki('apiserver.crt'), pki('ca.crt'), pki('etcd-ca.crt'), pki('apiserver-etcd.crt'), pki(`${frontProxy}.crt`)],
  };
}

/** The controller manager, which also gives nodes their pod ranges: kube-router reads them. */
export function controllerManager({ layout, binaries, ports }: Surroundings): Daemon {
  const config = join(layout.pki, 'controller-manager.kubeconfig');
  return {
    name: 'kube-controller-manager',
    binary: binaries.path('kube-controller-manager'),
    args: [
      `--kubeconfig=${config}`,
      `--authentication-kubeconfig=${config}`,
      `--authorization-kubeconfig=${config}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${ports.controllerManager}`,
      `--root-ca-file=${join(layout.pki, 'ca.crt')}`,
      `--cluster-signing-cert-file=${join(layout.pki, 'ca.crt')}`,
      `--cluster-signing-key-file=${join(layout.pki, 'ca.key')}`,
      `--service-account-private-key-file=${join(layout.pki, 'service-accounts.key')}`,
      '--use-service-account-credentials',
      '--leader-elect=false',
      // The default of 20 requests a second makes thirty controllers wait for one another at the start.
      '--kube-api-qps=300',
      '--kube-api-burst=600',
      `--flex-volume-plugin-dir=${join(layout.state, 'volume-plugins')}`,
      '--allocate-node-cidrs',
      '--node-cidr-mask-size=24',
      `--cluster-cidr=${network.podCidr}`,
      `--service-cluster-ip-range=${network.serviceCidr}`,
    ],
    inputs: [config],
  };
}

/** The scheduler, with limits on its own requests raised so that a burst of pods does not wait for them. */
export function scheduler({ layout, binaries, ports }: Surroundings): Daemon {
  const kubeconfig = join(layout.pki, 'scheduler.kubeconfig');
  const path = join(layout.config, 'scheduler.yaml');
  const text = dump({
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    clientConnection: { kubeconfig, qps: 200, burst: 400 },
    leaderElection: { leaderElect: false },
  });
  return {
    name: 'kube-scheduler',
    binary: binaries.path('kube-scheduler'),
    args: [
      `--config=${path}`,
      `--authentication-kubeconfig=${kubeconfig}`,
      `--authorization-kubeconfig=${kubeconfig}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${ports.scheduler}`,
    ],
    files: [{ path, text }],
    inputs: [kubeconfig],
  };
}

/** Plays nodes that carry the annotation `kwok.x-k8s.io/node=fake`, and no others. */
export function kwok({ layout, binaries, ports }: Surroundings): Daemon {
  return {
    name: 'kwok',
    binary: binaries.path('kwok'),
    args: [
      `--kubeconfig=${layout.kubeconfig}`,
      '--manage-all-nodes=false',
      '--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake',
      '--enable-crds=Stage',
      // Without a Lease a node counts as lost after a minute, and its pods as not ready.
      '--node-lease-duration-seconds=40',
      `--cidr=${network.fakePodCidr}`,
      '--node-ip=127.0.0.1',
      `--server-address=127.0.0.1:${ports.kwok}`,
    ],
    inputs: [layout.kubeconfig],
  };
}
