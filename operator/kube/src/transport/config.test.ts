import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { inClusterConfig, kubeconfigConfig } from './kubeconfig.ts';

async function folder(files: Readonly<Record<string, string>>): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'kube-config-'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

const kubeconfig = (user: object): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', namespace: 'mine' } }],
    clusters: [
      { name: 'c', cluster: { server: 'https://example.com:6443', 'certificate-authority-data': Buffer.from('ca').toString('base64') } },
    ],
    users: [{ name: 'u', user }],
  });

describe('configuration', () => {
  it('in a pod: server from the environment, token and CA read again at every call', async () => {
    await using files = await folder({ token: 'one\n', 'ca.crt': 'CA', namespace: 'here\n' });
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
    const config = await inClusterConfig(env, files.path);
    expect(config).toMatchObject({ server: 'https://[fd00::1]:443', namespace: 'here' });
    expect(await config.credentials(false)).toEqual({ tls: { ca: 'CA' }, authorization: 'Bearer one' });
    await writeFile(join(files.path, 'token'), 'two');
    expect(await config.credentials(false)).toMatchObject({ authorization: 'Bearer two' });
    await expect(inClusterConfig({}, files.path)).rejects.toMatchObject({ code: 'AF_KUBE_CONFIG' });
  });

  it('kubeconfig: server, namespace, CA, client certificate and token', async () => {
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const user = { 'client-certificate-data': base64('cert'), 'client-key-data': base64('key'), token: 'secret' };
    await using files = await folder({ config: kubeconfig(user) });
    const config = await kubeconfigConfig({ file: join(files.path, 'config') });
    expect(config).toMatchObject({ server: 'https://example.com:6443', namespace: 'mine' });
    const { tls, authorization } = await config.credentials(false);
    expect([String(tls.ca), String(tls.cert), String(tls.key), authorization]).toEqual(['ca', 'cert', 'key', 'Bearer secret']);
    await expect(kubeconfigConfig({ file: join(files.path, 'config'), context: 'gone' })).rejects.toMatchObject({ code: 'AF_KUBE_CONFIG' });
  });

  it('kubeconfig: the proxy of the cluster', async () => {
    const text = kubeconfig({ token: 'secret' }).replace('"cluster":{"server"', '"cluster":{"proxy-url":"socks5://10.0.0.1:1080","server"');
    await using files = await folder({ config: text });
    expect(await kubeconfigConfig({ file: join(files.path, 'config') })).toMatchObject({ proxy: 'socks5://10.0.0.1:1080' });
  });

  it.each([
    ['the first current context', ['dev', 'prod'], 'https://dev.example:6443', 'dev-ns'],
    ['the first definition of a name', ['same', 'dev', 'again'], 'https://same.example:6443', 'same-ns'],
    ['what comes behind a missing and an empty file', ['gone', 'empty', 'prod'], 'https://prod.example:6443', 'prod-ns'],
  ])('several files of KUBECONFIG: %s', async (_what, names, server, namespace) => {
    const part = (name: string, entry = name): string =>
      JSON.stringify({
        'current-context': entry,
        contexts: [{ name: entry, context: { cluster: entry, user: entry, namespace: `${name}-ns` } }],
        clusters: [{ name: entry, cluster: { server: `https://${name}.example:6443` } }],
        users: [{ name: entry, user: { token: name } }],
      });
    const all = { dev: part('dev'), prod: part('prod'), same: part('same', 'kubernetes'), again: part('again', 'kubernetes'), empty: '' };
    await using files = await folder(all);
    vi.stubEnv('KUBECONFIG', names.map((name) => join(files.path, name)).join(delimiter));
    onTestFinished(() => void vi.unstubAllEnvs());
    const config = await kubeconfigConfig();
    expect(config).toMatchObject({ server, namespace });
    expect((await config.credentials(true)).authorization).toBe(`Bearer ${namespace.replace('-ns', '')}`);
  });

  it('kubeconfig: a plugin is asked, and asked again when the server refused its token', async () => {
    const credential = '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"T"}}';
    await using files = await folder({});
    const script = `echo >> ${join(files.path, 'asked')}; echo '${credential}'`;
    await writeFile(
      join(files.path, 'config'),
      kubeconfig({ exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh', args: ['-c', script] } }),
    );
    const config = await kubeconfigConfig({ file: join(files.path, 'config') });
    for (const force of [false, false, true]) expect((await config.credentials(force)).authorization).toBe('Bearer T');
    const { readFile } = await import('node:fs/promises');
    expect(await readFile(join(files.path, 'asked'), 'utf8')).toBe('\n\n');
  });
});
