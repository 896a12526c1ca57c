import { network } from '../base/network.ts';

/** Authorities, separate so that no client of the API server can talk to etcd, or assert a user to extension servers. */
type AuthorityName = 'ca' | 'etcd-ca' | 'front-proxy-ca';

/** One certificate to issue. Organisations are groups and the common name is the user for the API server. */
export interface CertificateSpec {
  readonly name: string;
  readonly authority: AuthorityName;
  readonly commonName: string;
  readonly organization?: string;
  readonly dns?: readonly string[];
  readonly ips?: readonly string[];
}

/** The authorities themselves. */
export const authorities: readonly { readonly name: AuthorityName; readonly commonName: string }[] = [
  { name: 'ca', commonName: 'agentfleet-ca' },
  { name: 'etcd-ca', commonName: 'agentfleet-etcd-ca' },
  { name: 'front-proxy-ca', commonName: 'agentfleet-front-proxy-ca' },
];

/** Identity of the API server for extension servers. */
export const frontProxy = 'front-proxy-client';

/** All certificates of a cluster on this host. Each daemon has its own user with the rights that Kubernetes gives to it. */
export function certificates(host: { readonly nodeName: string; readonly address: string }): CertificateSpec[] {
  const service = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'kubernetes.default.svc.cluster.local'];
  const client = (name: string, commonName: string, organization?: string): CertificateSpec => ({
    name,
    authority: 'ca',
    commonName,
    ...(organization === undefined ? {} : { organization }),
  });
  return [
    {
      ...client('apiserver', 'kube-apiserver'),
      dns: [...service, 'localhost'],
      ips: ['127.0.0.1', network.apiServiceIp, host.address],
    },
    { ...client('kubelet', `system:node:${host.nodeName}`, 'system:nodes'), dns: [host.nodeName], ips: [host.address] },
    client('apiserver-kubelet', 'agentfleet:apiserver', 'system:masters'),
    client('admin', 'agentfleet:admin', 'system:masters'),
    client('controller-manager', 'system:kube-controller-manager'),
    client('scheduler', 'system:kube-scheduler'),
    client('kube-proxy', 'system:kube-proxy'),
    client('kube-router', 'agentfleet:kube-router'),
    { name: 'etcd', authority: 'etcd-ca', commonName: 'etcd', dns: ['localhost'], ips: ['127.0.0.1'] },
    { name: 'apiserver-etcd', authority: 'etcd-ca', commonName: 'kube-apiserver' },
    { name: frontProxy, authority: 'front-proxy-ca', commonName: frontProxy },
  ];
}

/** The users that get a kubeconfig of the same name. */
export const kubeconfigUsers = ['admin', 'controller-manager', 'scheduler', 'kubelet', 'kube-proxy', 'kube-router'] as const;

function requestConfig(subject: readonly string[], extensions: readonly string[]): string {
  const request = ['[req]', 'prompt = no', 'string_mask = utf8only', 'distinguished_name = subject', 'x509_extensions = extensions'];
  return `${[...request, '[subject]', ...subject, '[extensions]', ...extensions].join('\n')}\n`;
}

/** The openssl configuration of an authority. Key identifiers are there because strict clients refuse chains without them. */
export function authorityConfig(commonName: string): string {
  return requestConfig(
    [`CN = ${commonName}`],
    ['basicConstraints = critical,CA:TRUE', 'keyUsage = critical,keyCertSign,cRLSign,digitalSignature', 'subjectKeyIdentifier = hash'],
  );
}

/** The openssl configuration of a certificate. */
export function certificateConfig(spec: CertificateSpec): string {
  const names = [...(spec.dns ?? []).map((name) => `DNS:${name}`), ...(spec.ips ?? []).map((ip) => `IP:${ip}`)];
  return requestConfig(
    [...(spec.organization === undefined ? [] : [`O = ${spec.organization}`]), `CN = ${spec.commonName}`],
    [
      'basicConstraints = critical,CA:FALSE',
      'keyUsage = critical,digitalSignature',
      `extendedKeyUsage = ${names.length > 0 ? 'serverAuth,clientAuth' : 'clientAuth'}`,
      'subjectKeyIdentifier = hash',
      'authorityKeyIdentifier = keyid:always',
      ...(names.length > 0 ? [`subjectAltName = ${names.join(',')}`] : []),
    ],
  );
}
