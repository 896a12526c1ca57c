import { toolDefinition } from '@agentfleet/protocol/chat';
import { questionDigest } from '../attempt/notes.ts';
import { plain, type Tool } from './tool.ts';

/** Asks a person; the clocks of the task stop until an answer arrives, or its time is over. */
export const askHuman: Tool = {
  definition: toolDefinition('ask_human'),
  offered: ({ context }) => context.task.spec.policy.approvals !== undefined,
  run: async (args, { scope, callKey }) => {
    const text = plain((args as { readonly question: string }).question);
    const action = questionDigest(scope.context.task.metadata.uid ?? '', callKey, text);
    const { answer, by } = await scope.approvals.question({ action, text });
    if (answer !== null) return { ok: true, text: `${plain(answer)}\n[answered ${by}]` };
    return { ok: false, text: `[no answer: ${by}; decide by yourself, and name in your answer what you assumed]` };
  },
};
