import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { KubeConfig } from '@kubernetes/client-node';
import { loadAll } from 'js-yaml';
import { kubeconfigPath } from '../../../hack/cluster/index.ts';

/** Set by the stage that has brought a cluster up. */
export const enabled = process.env['AGENTFLEET_CONTRACT_REAL'] === '1';

/** The fields of an object that tests read; everything else is handled as data. */
export interface Stored {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation: number;
    readonly labels?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly { readonly manager: string; readonly subresource?: string; readonly time: string }[];
  };
  readonly spec: Record<string, unknown>;
  readonly status?: Record<string, unknown>;
}

export interface Cause {
  readonly field?: string;
  readonly reason?: string;
  readonly message: string;
}

export interface Answer {
  readonly status: number;
  /** An object, a list or a `metav1.Status`. */
  readonly body: Stored & {
    readonly message?: string;
    readonly items?: readonly Stored[];
    readonly details?: { readonly causes?: readonly Cause[] };
  };
}

export interface Ask {
  readonly body?: unknown;
  readonly type?: string;
  /** Bearer token instead of the administrator's certificate. */
  readonly token?: string;
  readonly accept?: string;
}

/** Raw requests to the API server, as administrator unless a token is given. */
export interface Server {
  ask(method: string, path: string, options?: Ask): Promise<Answer>;
  /** Lines of a watch, until `stop`. */
  watch(path: string): { readonly events: readonly { readonly type: string; readonly object: Stored }[]; stop(): void };
}

/** For a path that is not served yet the answer is plain text. */
function bodyOf(text: string): Answer['body'] {
  try {
    return JSON.parse(text) as Answer['body'];
  } catch {
    return { message: text } as Answer['body'];
  }
}

function send(base: RequestOptions, method: string, path: string, { body, type, token, accept }: Ask): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': type ?? 'application/json',
      accept: accept ?? 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    // The agent carries the administrator's certificate, which would outrank a token.
    const identity = token === undefined ? base : { host: base.host, port: base.port, ca: base.ca };
    const outgoing = httpsRequest({ ...identity, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: bodyOf(Buffer.concat(chunks).toString()) }));
    });
    outgoing.on('error', reject);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** The API server of the cluster that is up. */
export async function connect(): Promise<Server> {
  const config = new KubeConfig();
  config.loadFromFile(await kubeconfigPath());
  const address = new URL(config.getCurrentCluster()!.server);
  const base: RequestOptions = { host: address.hostname, port: address.port };
  await config.applyToHTTPSOptions(base);
  return {
    ask: (method, path, options = {}) => send(base, method, path, options),
    watch: (path) => {
      const events: { type: string; object: Stored }[] = [];
      let rest = '';
      const outgoing = httpsRequest({ ...base, path }, (response) => {
        response.setEncoding('utf8');
        response.on('data', (text: string) => {
          const lines = (rest + text).split('\n');
          rest = lines.pop() ?? '';
          events.push(...lines.map((line) => JSON.parse(line) as { type: string; object: Stored }));
        });
      });
      outgoing.on('error', () => undefined); // the end of a watch that we cut
      outgoing.end();
      return { events, stop: () => outgoing.destroy() };
    },
  };
}

/** Repeats until `found` returns true; for asynchronous effects in the API server. */
export async function until(what: string, found: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 800; i += 1) {
    if (await found()) return;
    await delay(50);
  }
  throw new Error(`${what} did not happen`);
}

const crdRoot = fileURLToPath(new URL('../../../crds/', import.meta.url));

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

const collections: Readonly<Record<string, string>> = {
  CustomResourceDefinition: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  ValidatingAdmissionPolicy: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings',
};

/** Applies `crds/`, like a user, and waits until the API server uses it. */
export async function install(server: Server): Promise<void> {
  let newest = 0;
  for (const folder of [crdRoot, `${crdRoot}policies/`]) {
    for (const file of (await readdir(folder)).filter((name) => name.endsWith('.yaml'))) {
      for (const manifest of loadAll(await readFile(folder + file, 'utf8')) as Manifest[])
        newest = Math.max(newest, await apply(server, manifest));
    }
  }
  // The API does not show when a changed schema or policy is in force; another test file may have changed it just now.
  if (Date.now() - newest < 3000) await delay(2000);
}

/** Applies one manifest and returns when it was last changed, in milliseconds since the epoch. */
async function apply(server: Server, manifest: Manifest): Promise<number> {
  const path = `${collections[manifest.kind]!}/${manifest.metadata.name}`;
  const query = 'fieldManager=contract&force=true&fieldValidation=Strict';
  const applied = await server.ask('PATCH', `${path}?${query}`, { body: manifest, type: 'application/apply-patch+yaml' });
  if (applied.status > 201) throw new Error(`${path}: ${applied.body.message}`);
  if (manifest.kind === 'CustomResourceDefinition')
    await until(`${manifest.metadata.name} is served`, async () => {
      const conditions = (await server.ask('GET', path)).body.status?.['conditions'] as { type: string; status: string }[] | undefined;
      return conditions?.some(({ type, status }) => type === 'Established' && status === 'True') === true;
    });
  return Date.parse(applied.body.metadata.managedFields?.find(({ manager }) => manager === 'contract')?.time ?? '');
}

/** User name of the administrator. */
export async function whoAmI(server: Server): Promise<string> {
  const { body } = await server.ask('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', { body: {} });
  return (body.status as { userInfo: { username: string } }).userInfo.username;
}

/** A new namespace; its objects go with it. */
export async function createNamespace(server: Server, name = `api-contract-${randomBytes(4).toString('hex')}`): Promise<string> {
  const { status, body } = await server.ask('POST', '/api/v1/namespaces', { body: { metadata: { name } } });
  if (status !== 201) throw new Error(`namespace ${name}: ${body.message}`);
  return name;
}

/** Path of a collection of our group. */
export function collection(namespace: string, plural: string): string {
  return `/apis/agentfleet.dev/v1alpha1/namespaces/${namespace}/${plural}`;
}
