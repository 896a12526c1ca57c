import { mkdir, writeFile, access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import type { Cluster } from '../base/cluster.ts';
import { ClusterError } from '../base/errors.ts';
import type { Layout } from '../base/layout.ts';

/** Arguments of kubectl that print one context with its credentials, alone. */
export function minifyArguments(context: string): string[] {
  return ['config', 'view', '--minify', '--flatten', '--context', context];
}

/** Arguments of kubectl that ask for the names of the Ready nodes. */
function readyNodesArguments(kubeconfig: string): string[] {
  const ready = '{range .items[*]}{.metadata.name}{"\\t"}{.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}';
  return ['--kubeconfig', kubeconfig, '--request-timeout=10s', 'get', 'nodes', '-o', `jsonpath=${ready}`];
}

/** The first node that is Ready in the answer to `readyNodesArguments`. */
export function firstReadyNode(answer: string): string | undefined {
  return answer
    .split('\n')
    .map((line) => line.split('\t'))
    .find(([, ready]) => ready === 'True')?.[0];
}

/** Returns the refusal to load an image into foreign nodes. */
export function importRefusal(context: string): ClusterError {
  return new ClusterError('AF_IMPORT_UNSUPPORTED', {
    what: 'images cannot be loaded into the nodes of a foreign cluster',
    where: `context ${context}`,
    cure: 'Push the image to a registry that the cluster can pull from and name it there',
  });
}

function unreachable(context: string, words: string): ClusterError {
  return new ClusterError('AF_CONTEXT_UNREACHABLE', {
    what: `the cluster does not answer: ${words.split('\n', 1)[0] ?? ''}`,
    where: `context ${context}`,
    cure: 'Check the name with `kubectl config get-contexts`, the network and the credentials',
  });
}

/**
 * Uses an existing cluster through a private copy of one context. Starts nothing and installs nothing. Throws
 * AF_CONTEXT_UNREACHABLE, or AF_BINARY_UNKNOWN when there is no kubectl.
 */
export async function upContext(layout: Layout, context: string, log: (line: string) => void): Promise<Cluster> {
  const bin = binOver(await clientTools(), 'context');
  const kubectl = bin('kubectl');
  const view = await execa(kubectl, minifyArguments(context), { reject: false });
  if (view.exitCode !== 0) throw unreachable(context, view.stderr);
  await mkdir(layout.state, { recursive: true, mode: 0o700 });
  const kubeconfig = join(layout.state, 'context.kubeconfig');
  await writeFile(kubeconfig, view.stdout, { mode: 0o600 });
  const nodes = await execa(kubectl, readyNodesArguments(kubeconfig), { reject: false });
  if (nodes.exitCode !== 0) throw unreachable(context, nodes.stderr);
  const nodeName = firstReadyNode(nodes.stdout);
  log(
    nodeName === undefined ? `context ${context} answers; it lacks a Ready node` : `context ${context} answers; node ${nodeName} is Ready`,
  );
  log('images must come from a registry; whether NetworkPolicy is enforced is probed before the first use');
  return {
    provider: 'context',
    tier: nodeName === undefined ? 'control-plane' : 'node',
    kubeconfig,
    context,
    nodeName: nodeName ?? '',
    startedByThisCall: false,
    bin,
    importImage: () => Promise.reject(importRefusal(context)),
  };
}

/** Absolute path of an executable in PATH, if there is one. */
async function findInPath(name: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(':').filter(Boolean)) {
    const candidate = join(folder, name);
    const found = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return candidate;
  }
  return undefined;
}

/** Returns a `bin` over tools that were found before; it throws AF_BINARY_UNKNOWN for any other name. */
export function binOver(tools: ReadonlyMap<string, string>, provider: string): (name: string) => string {
  return (name) => {
    const path = tools.get(name);
    if (path !== undefined) return path;
    throw new ClusterError('AF_BINARY_UNKNOWN', {
      what: `there is no binary "${name}"`,
      where: `provider ${provider}, PATH`,
      cure: `Install ${name} and put it into PATH`,
    });
  };
}

/** Finds the usual client tools in PATH; missing ones are not in the map. */
export async function clientTools(): Promise<Map<string, string>> {
  const names = ['kubectl', 'helm', 'kind', 'docker'];
  const found = await Promise.all(names.map(async (name) => [name, await findInPath(name, process.env['PATH'] ?? '')] as const));
  return new Map(found.filter((entry): entry is [string, string] => entry[1] !== undefined));
}
