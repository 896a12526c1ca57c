import { expect, it } from 'vitest';
import { certificateConfig, certificates, kubeconfigUsers } from './issue.ts';

const all = certificates({ nodeName: 'n1', address: '192.0.2.7' });

it('covers every name by which the API server is reached', () => {
  const text = certificateConfig(all.find((spec) => spec.name === 'apiserver')!);
  for (const name of ['DNS:kubernetes.default.svc', 'DNS:localhost', 'IP:127.0.0.1', 'IP:10.96.0.1', 'IP:192.0.2.7'])
    expect(text).toContain(name);
  expect(text).toContain('extendedKeyUsage = serverAuth,clientAuth');
});

it('identifies keys, which strict clients ask for', () => {
  for (const spec of all) {
    expect(certificateConfig(spec)).toContain('subjectKeyIdentifier = hash');
    expect(certificateConfig(spec)).toContain('authorityKeyIdentifier = keyid:always');
  }
});

it('gives the kubelet the identity that NodeRestriction expects', () => {
  expect(all.find((spec) => spec.name === 'kubelet')).toMatchObject({ commonName: 'system:node:n1', organization: 'system:nodes' });
});

it('lets only the API server into etcd', () => {
  expect(all.filter((spec) => spec.authority === 'etcd-ca').map((spec) => spec.name)).toEqual(['etcd', 'apiserver-etcd']);
});

it('has a certificate for every kubeconfig', () => {
  for (const user of kubeconfigUsers) expect(all.map((spec) => spec.name)).toContain(user);
});
