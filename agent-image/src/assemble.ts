import { access, readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@agentfleet/kube';
import { homeDir, workspaceDir } from '@agentfleet/protocol/keeper';
import type { Tracing } from '@agentfleet/protocol/tracing';
import { createAttemptEngine, type AttemptEngine } from './attempt/index.ts';
import { collectCoverage } from './coverage/index.ts';
import { deliver } from './delivery/index.ts';
import { createDialer, createEgress } from './egress/index.ts';
import { runHarness } from './harness/index.ts';
import { loopStrategy } from './loop/index.ts';
import { repair } from './search/index.ts';
import { createRails, installedGrammars, loadGrammars, type GrammarFiles } from './rails/index.ts';
import { importWorkspace } from './workspace/index.ts';

interface AssembleOptions {
  /** Folder for temporary files. */
  readonly scratch: string;
  /** PEM file with the authorities that git trusts instead of the system's. */
  readonly authorities?: string;
  /** Environment of the process: the worker's own proxy, and the address of the API server. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Exporter of the attempts' spans; absent: none are sent. */
  readonly tracing?: Tracing;
}

/** The engine with its parts, and whether they still work. */
interface Assembled {
  readonly engine: AttemptEngine;
  /** Throws when the process has to be started again. */
  readonly health: () => void;
}

/** Grammars next to this file, as in the image; else in npm's folders. */
async function grammarFiles(): Promise<GrammarFiles> {
  const beside = (name: string): string => fileURLToPath(new URL(`./${name}`, import.meta.url));
  try {
    await access(beside('web-tree-sitter.wasm'));
  } catch {
    return installedGrammars();
  }
  const names = {
    runtime: 'web-tree-sitter',
    bash: 'tree-sitter-bash',
    python: 'tree-sitter-python',
    javascript: 'tree-sitter-javascript',
  };
  const paths = Object.entries(names).map(([name, file]) => [name, beside(`${basename(file)}.wasm`)]);
  return Object.fromEntries(paths) as GrammarFiles;
}

/** Loads the grammars and joins the parts of the engine. Rejects when a grammar is missing. */
export async function assembleEngine({ scratch, authorities, env, tracing }: AssembleOptions): Promise<Assembled> {
  const grammars = await loadGrammars(await grammarFiles());
  const ownAddresses = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
  const openDialer = createDialer({ clock: systemClock, env, ownAddresses });
  const trusted = authorities === undefined ? undefined : { file: authorities, pem: await readFile(authorities, 'utf8') };
  const engine = createAttemptEngine({
    rails: createRails({ grammars, home: homeDir }),
    grammars,
    search: repair,
    loop: loopStrategy,
    runHarness,
    importWorkspace: (workspace, { rules, ...ports }) =>
      importWorkspace(workspace, {
        ...ports,
        dialer: openDialer(rules),
        scratch,
        ...(authorities === undefined ? {} : { authorities }),
      }),
    openEgress: createEgress(openDialer),
    web: { openDialer, ...(trusted !== undefined && { authorities: trusted.pem }) },
    deliver: (order, { rules, ...ports }) => deliver(order, { ...ports, dialer: openDialer(rules), scratch, authorities: trusted }),
    ...(tracing !== undefined && { tracing }),
    collectCoverage: (request) => collectCoverage({ ...request, cwd: workspaceDir }),
  });
  const health = (): void => {
    if (grammars.failed) throw new Error('the parser of gate 1 failed; restart the process');
  };
  return { engine, health };
}
