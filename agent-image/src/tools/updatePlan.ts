import { toolDefinition } from '@agentfleet/protocol/chat';
import { count, plain, type PlanItem, type Tool } from './tool.ts';

/** Replaces the plan, which the loop puts before the model when older messages are summarised. */
export const updatePlan: Tool = {
  definition: toolDefinition('update_plan'),
  run: (args, { memory }) => {
    const { items } = args as { readonly items: readonly PlanItem[] };
    memory.plan = items.map(({ text, state }) => ({ text: plain(text).replaceAll('\n', ' '), state }));
    const of = (state: PlanItem['state']): number => items.filter((one) => one.state === state).length;
    const text =
      items.length === 0
        ? 'the plan is empty'
        : `${count(items.length, 'item')}: ${of('Done')} done, ${of('Active')} active, ${of('Open')} open`;
    return Promise.resolve({ ok: true, text });
  },
};
