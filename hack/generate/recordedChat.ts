import { readFileSync } from 'node:fs';
import { dump } from 'js-yaml';
import type { Conversation } from '@agentfleet/protocol/chat';

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
