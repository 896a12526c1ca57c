import { randomBytes } from 'node:crypto';
import type { InstallEnvironment } from '../install/index.ts';
import { Kubectl } from '../sandbox/index.ts';
import { credentialSecret, place, serverObjects, storageNamespace } from './manifests.ts';

/** Access to the storage for an ExpertPool; `forcePathStyle` must be true. */
export interface StorageAccess {
  /** Address of the S3 API for pods. */
  readonly endpoint: string;
  /** The bucket. */
  readonly uri: string;
  readonly accessKey: string;
  readonly secretKey: string;
}

interface SecretList {
  readonly items: readonly { readonly data?: Readonly<Record<string, string>> }[];
}

const { namespace, name, bucket, port } = place;
const readySeconds = 120;

/**
 * Installs an S3 server with one bucket and waits until it is ready. Idempotent: the credential of an earlier call
 * stays. Its data is lost with its pod. Rejects with kubectl's own message.
 */
export async function installStorage(environment: InstallEnvironment): Promise<StorageAccess> {
  const kubectl = new Kubectl(environment.cluster);
  await kubectl.apply(storageNamespace);
  const credential = (await readCredential(kubectl)) ?? (await makeCredential(kubectl));
  await kubectl.apply(...serverObjects(environment.image('s3')));
  await kubectl.text(['-n', namespace, 'rollout', 'status', `deployment/${name}`, `--timeout=${readySeconds}s`]);
  return { endpoint: `http://${name}.${namespace}.svc:${port}`, uri: `s3://${bucket}`, ...credential };
}

type Credential = Pick<StorageAccess, 'accessKey' | 'secretKey'>;

async function readCredential(kubectl: Kubectl): Promise<Credential | undefined> {
  const { items } = await kubectl.json<SecretList>(['-n', namespace, 'get', 'secrets', `--field-selector=metadata.name=${name}`]);
  const value = (key: string): string => Buffer.from(items[0]?.data?.[key] ?? '', 'base64').toString('utf8');
  const [accessKey, secretKey] = [value('accessKey'), value('secretKey')];
  return accessKey === '' || secretKey === '' ? undefined : { accessKey, secretKey };
}

async function makeCredential(kubectl: Kubectl): Promise<Credential> {
  const credential = { accessKey: randomBytes(10).toString('hex'), secretKey: randomBytes(20).toString('hex') };
  await kubectl.apply(credentialSecret(credential.accessKey, credential.secretKey));
  return credential;
}
