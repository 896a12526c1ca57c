/**
 * Parts of docs/start.md besides the fleet, on a local cluster: a Gitea with a repository, and an endpoint with a key
 * and recorded answers. Imports `install`, `sandbox`, ports of `cluster`, the installer of `fleet`, the bundler,
 * and the servers of Git and of recorded answers that tests have.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../cluster/base/ports.ts';
import { selfSigned } from '../../agent-image/src/workspace/testing/gitServer.ts';
import { bundleCommand } from '../bundle.ts';
import { installCli } from '../cli.ts';
import type { InstallEnvironment } from '../install/index.ts';
import { deleteNamespace, Kubectl } from '../sandbox/index.ts';
import {
  askGitea,
  buildGitea,
  filesOfCommit,
  giteaScopes,
  giteaSettings,
  forgeObjects,
  inForge,
  modelObjects,
  place,
  startNamespace,
} from './gitea.ts';

const checkout = join(import.meta.dirname, '..', '..');
const recordings = join(checkout, 'test', 'sandbox', 'conversations');
const sources = join(checkout, 'examples', 'start');
const answerSeconds = 120;

/** Variables of the shell with which docs/start.md continues. */
export interface StartVariables extends Readonly<Record<string, string>> {
  /** Base URL of the model, its name there, its key. */
  readonly ENDPOINT: string;
  readonly MODEL: string;
  readonly KEY: string;
  /** The repository, the token of its owner, and the certificate of the forge. */
  readonly GIT_URL: string;
  readonly GIT_TOKEN: string;
  readonly GIT_CA: string;
}

/**
 * Starts forge and endpoint again, on a cluster that has the fleet, and writes `fleet` and the certificate to a folder.
 * Rejects with the message of kubectl or of the forge.
 */
export async function startLocal(environment: InstallEnvironment, folder: string): Promise<StartVariables> {
  const kubectl = new Kubectl(environment.cluster);
  await mkdir(folder, { recursive: true });
  await deleteNamespace(kubectl, place.namespace);
  await kubectl.apply(startNamespace);
  const [forge, model] = await Promise.all([
    startForge(kubectl, environment.image('tools'), folder),
    startModel(kubectl, environment.image('agent')),
    installCli(join(folder, 'bin')),
  ]);
  return { ...model, ...forge };
}

async function startModel(kubectl: Kubectl, image: string): Promise<Pick<StartVariables, 'ENDPOINT' | 'MODEL' | 'KEY'>> {
  const { namespace, model, modelPort } = place;
  const key = randomBytes(16).toString('hex');
  const files = {
    'answers.cjs': await bundleCommand(join(import.meta.dirname, 'answers.ts')),
    'repair.json': await readFile(join(recordings, 'repair.json'), 'utf8'),
  };
  await kubectl.apply(...modelObjects(image, files, key));
  await ready(kubectl, model);
  return { ENDPOINT: `http://${model}.${namespace}.svc:${modelPort}/v1`, MODEL: 'recorded', KEY: key };
}

async function startForge(
  kubectl: Kubectl,
  image: string,
  folder: string,
): Promise<Pick<StartVariables, 'GIT_URL' | 'GIT_TOKEN' | 'GIT_CA'>> {
  const { namespace, forge, user } = place;
  const built = await buildGitea();
  const host = await nodeAddress(kubectl);
  const port = await freePort(host);
  const made = await mkdtemp(join(tmpdir(), 'forge-'));
  const authorities = join(folder, 'forge-ca.crt');
  try {
    const { key, cert } = await selfSigned(made, host);
    const certificate = await readFile(cert, 'utf8');
    await writeFile(authorities, certificate);
    const { data } = inForge;
    const where = { host, port, data, certificate: `${data}/tls.crt`, key: `${data}/tls.key`, sources: inForge.sources, user: 'root' };
    const files = { 'app.ini': giteaSettings(where), 'tls.crt': certificate, 'tls.key': await readFile(key, 'utf8') };
    await kubectl.apply(...forgeObjects(image, built, files));
  } finally {
    await rm(made, { recursive: true });
  }
  await ready(kubectl, forge);
  const at = { origin: `https://${host}:${port}`, authorities };
  await answering(() => askGitea({ ...at, token: '' }, 'GET', '/version'));
  const admin = (...words: readonly string[]): Promise<string> =>
    kubectl.text(['-n', namespace, 'exec', forge, '--', inForge.program, '--config', inForge.settings, 'admin', 'user', ...words]);
  const password = randomBytes(16).toString('hex');
  const person = ['--username', user, '--password', password, '--email', `${user}@example.com`, '--must-change-password=false'];
  await admin('create', ...person);
  const token = await tokenOf(admin, user);
  await makeRepository({ ...at, token });
  return { GIT_URL: `${at.origin}/${user}/${place.repository}.git`, GIT_TOKEN: token, GIT_CA: authorities };
}

/** Returns a token of the user: a separate line among Gitea's logs. A name is used once, also by a failed call. */
async function tokenOf(admin: (...words: readonly string[]) => Promise<string>, user: string): Promise<string> {
  let said = '';
  for (let tries = 0; tries < 5; tries += 1) {
    const named = ['--username', user, '--token-name', `fleet-${tries}`];
    said = await admin('generate-access-token', ...named, '--scopes', giteaScopes, '--raw').catch(String);
    const [token] = /^[0-9a-f]{40}$/m.exec(said) ?? [];
    if (token !== undefined) return token;
  }
  throw new Error(`Gitea gives no token: ${said}`);
}

/** The repository, with one commit. */
async function makeRepository(owner: Parameters<typeof askGitea>[0]): Promise<void> {
  const { user, repository } = place;
  await askGitea(owner, 'POST', '/user/repos', { name: repository, default_branch: 'main' });
  const files = Object.fromEntries(
    await Promise.all(['cart.py', 'test_cart.py'].map(async (name) => [name, await readFile(join(sources, name), 'utf8')] as const)),
  );
  const first = { branch: 'main', message: 'Prices of a cart', files: filesOfCommit(files) };
  await askGitea(owner, 'POST', `/repos/${user}/${repository}/contents`, first);
}

/** Waits for a pod. Rejects with its log. */
async function ready(kubectl: Kubectl, pod: string): Promise<void> {
  const words = (...args: readonly string[]): Promise<string> => kubectl.text(['-n', place.namespace, ...args]).catch(String);
  await kubectl.waitReady(place.namespace, pod, answerSeconds).catch(async (error: unknown) => {
    throw new Error(`pod ${pod}: ${await words('get', 'pod', pod, '-o', 'wide')}\n${await words('logs', pod, '--tail=20')}`, {
      cause: error,
    });
  });
}

async function answering(ask: () => Promise<unknown>): Promise<void> {
  for (const until = performance.now() + answerSeconds * 1000; ; await delay(200)) {
    try {
      await ask();
      return;
    } catch (error) {
      if (performance.now() > until) throw error;
    }
  }
}

interface Nodes {
  readonly items: readonly { readonly status: { readonly addresses: readonly { readonly type: string; readonly address: string }[] } }[];
}

/** The address that pods and people of this machine reach the node at. */
async function nodeAddress(kubectl: Kubectl): Promise<string> {
  const { items } = await kubectl.json<Nodes>(['get', 'nodes']);
  const found = items.flatMap(({ status }) => status.addresses).find(({ type }) => type === 'InternalIP');
  if (found === undefined) throw new Error('no node has an InternalIP; see: kubectl get nodes -o wide');
  return found.address;
}

/** Writes a file that a shell reads with `.`: the variables, the cluster, and the programs on the PATH. @returns its path */
export async function writeVariables(folder: string, variables: StartVariables, cluster: InstallEnvironment['cluster']): Promise<string> {
  const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const path = [join(folder, 'bin'), dirname(cluster.bin('kubectl'))].map(quoted).join(':');
  const lines = Object.entries({ ...variables, KUBECONFIG: cluster.kubeconfig }).map(([name, value]) => `export ${name}=${quoted(value)}`);
  const file = join(folder, 'env.sh');
  await writeFile(file, `${[...lines, `export PATH=${path}:"$PATH"`].join('\n')}\n`, { mode: 0o600 });
  return file;
}
