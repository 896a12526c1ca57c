import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createArtifactStore } from '@agentfleet/agent/store';
import { systemClock } from '@agentfleet/kube';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { portForward } from '../../hack/sandbox/index.ts';
import { installStorage, type StorageAccess } from '../../hack/storage/index.ts';
import { clusterKubectl } from './harness.ts';

const namespace = 'agentfleet-storage';
const kubectl = clusterKubectl();
let storage: StorageAccess;
let folder: string;

const install = (): Promise<StorageAccess> => {
  const { kubeconfig, context, bins, images } = inject('environment');
  const cluster = { kubeconfig, context, bin: (name: string) => bins[name] ?? name };
  return installStorage({ cluster, image: (name) => images[name] ?? '' });
};

beforeAll(async () => {
  storage = await install();
  folder = await mkdtemp(join(tmpdir(), 'agentfleet-storage-'));
  await writeFile(join(folder, 'credential'), `${storage.accessKey}:${storage.secretKey}`, { mode: 0o600 });
});
afterAll(() => rm(folder, { recursive: true }));

test('the storage of a cluster keeps artifacts from a restricted, read-only pod', async () => {
  const pods = await kubectl.json<{ items: { metadata: { name: string } }[] }>([
    '-n',
    namespace,
    'get',
    'pods',
    '-l',
    'app.kubernetes.io/name=s3',
    '--field-selector=status.phase=Running',
  ]);
  const { port } = new URL(storage.endpoint);
  const forward = await portForward(kubectl, namespace, pods.items[0]?.metadata.name ?? '', Number(port));
  const place = { type: 'S3', region: 'us-east-1', forcePathStyle: true, credentialFile: join(folder, 'credential') } as const;
  const prefix = `${storage.uri}/test-${process.pid}`;
  try {
    const store = createArtifactStore({ ...place, uri: prefix, endpoint: forward.url }, { clock: systemClock, random: Math.random });
    const content = Buffer.alloc(3_000_000, 'artifact ');
    expect(await store.put('a/change.patch', content, 'text/x-diff')).toMatchObject({ uri: `${prefix}/a/change.patch`, bytes: 3_000_000 });
    expect((await store.get('a/change.patch')).equals(content)).toBe(true);
    expect(await store.list('a/')).toEqual(['a/change.patch']);
    await store.remove(['a/change.patch']);
    expect(await store.list('')).toEqual([]);
  } finally {
    await forward.close();
  }
});

test('a second installation changes nothing', async () => {
  const pods = (): Promise<string> => kubectl.text(['-n', namespace, 'get', 'pods', '-o', 'jsonpath={.items[*].metadata.uid}']);
  const before = await pods();
  expect(await install()).toEqual(storage);
  expect(await pods()).toBe(before);
});
