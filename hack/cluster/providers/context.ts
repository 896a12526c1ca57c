import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import type { Cluster } from '../base/cluster.ts';
import { ClusterError } from '../base/errors.ts';
import type { Layout } from '../base/layout.ts';
import { binOver, clientTools } from './tools.ts';

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
