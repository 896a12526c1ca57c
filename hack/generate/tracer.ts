// hack, generate: line tracers and Python feature program as JSON for a bundle. May import any package.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import { dump } from 'js-yaml';
import type { Conversation } from '@agentfleet/protocol/chat';

const folder = fileURLToPath(new URL('../../agent-image/src/coverage', import.meta.url));

/**
 * The files of the line tracers as JSON, path → content: a bundle can hold that. Python's as they are; Node's below
 * `node/` without types, because the Node of a sandbox may be one that knows none.
 */
export function tracerFiles(): string {
  const python = below('python', '.py').map((path): [string, string] => [path, read('python', path)]);
  const node = below('node', '.ts').map((path): [string, string] => [`node/${path.replace(/ts$/, 'mjs')}`, stripped(read('node', path))]);
  return `${JSON.stringify(Object.fromEntries([...node, ...python]), null, 2)}\n`;
}

/** The program by which a sandbox looks at Python sources, as JSON. */
export function featureFiles(): string {
  return `${JSON.stringify({ 'api_use.py': readFileSync(join(folder, '../features/python/api_use.py'), 'utf8') }, null, 2)}\n`;
}

function below(language: string, ending: string): readonly string[] {
  const paths = readdirSync(join(folder, language), { recursive: true, encoding: 'utf8' });
  return paths.filter((path) => path.endsWith(ending) && !path.endsWith('.test.ts')).sort();
}

function read(language: string, path: string): string {
  return readFileSync(join(folder, language, path), 'utf8');
}

function stripped(source: string): string {
  const plain = transformSync(source, { loader: 'ts', format: 'esm', target: 'node20', charset: 'utf8' }).code;
  return plain.replaceAll(/(from ["']\.\/\w+)\.ts(["'])/g, '$1.mjs$2');
}

const recording = new URL('../../test/sandbox/conversations/write-module.json', import.meta.url);

const head = `# Made by \`npm run generate\` from test/sandbox/conversations/write-module.json.
# A pool whose chat model is a recorded conversation, played by hand through a mailbox in place of a model: gateway, loop, tools and
# gates are those of any other chat model. examples/write-module.yaml is its task.
`;

/** The example of a pool that plays a recorded conversation: the ConfigMap with the recording, and the pool. */
export function recordedChat(): string {
  const conversation = JSON.parse(readFileSync(recording, 'utf8')) as Conversation;
  const map = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'recorded-chat', namespace: 'agentfleet-pools' },
    data: { 'write-module.json': `${JSON.stringify(conversation, null, 1)}\n` },
  };
  const replay = { configMap: { name: map.metadata.name }, format: 'Chat' };
  const pool = {
    apiVersion: 'agentfleet.dev/v1alpha1',
    kind: 'ExpertPool',
    metadata: { name: 'recorded-chat', namespace: 'agentfleet-pools' },
    spec: {
      allowedNamespaces: { from: 'All' },
      experts: [{ name: 'gen', role: 'Generalist', engine: { type: 'Replay', replay } }],
      gateway: { replicas: 1 },
      workers: { replicas: 1, concurrency: 4 },
    },
  };
  return head + [map, pool].map((manifest) => dump(manifest, { lineWidth: -1, noRefs: true })).join('---\n');
}
