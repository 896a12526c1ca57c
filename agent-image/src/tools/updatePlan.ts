import { toolDefinition } from '@agentfleet/protocol/chat';
import { ArgumentError, count, plain, type PlanItem, type Tool } from './tool.ts';

/** Most items of a plan, and characters of one that are kept. */
const most = { items: 32, characters: 300 };

const states: Readonly<Record<string, PlanItem['state']>> = { ' ': 'Open', '': 'Open', '>': 'Active', x: 'Done', X: 'Done' };

/** Replaces the plan, which the loop puts before the model when older messages are summarised. */
export const updatePlan: Tool = {
  definition: toolDefinition('update_plan'),
  run: (args, { memory }) => {
    const all = itemsOf((args as { readonly plan: string }).plan);
    const items = all.map(({ text, state }) => ({ text: shortOf(text), state }));
    memory.plan = items;
    const cut = all.filter(({ text }) => text.length > most.characters).length;
    const note = cut === 0 ? '' : `; ${count(cut, 'item')} cut to ${most.characters} characters`;
    const of = (state: PlanItem['state']): number => items.filter((one) => one.state === state).length;
    const text =
      items.length === 0
        ? 'the plan is empty'
        : `${count(items.length, 'item')}: ${of('Done')} done, ${of('Active')} active, ${of('Open')} open${note}`;
    return Promise.resolve({ ok: true, text });
  },
};

const shortOf = (text: string): string => (text.length <= most.characters ? text : `${text.slice(0, most.characters - 1)}…`.toWellFormed());

/** A line an item; one without a mark is open. @throws ArgumentError */
function itemsOf(text: string): readonly PlanItem[] {
  const lines = plain(text)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (lines.length > most.items) throw new ArgumentError(`plan: it has ${lines.length} items, at most ${most.items}; join some`);
  return lines.map((line) => {
    const said = /^(?!(?:[-*] |\d+[.)] )?\[.?\])(.*\S)\s*[([](done|completed|in progress|active|now)[)\]]$/i.exec(line);
    if (said !== null) return { text: said[1] ?? '', state: /done|completed/i.test(said[2] ?? '') ? 'Done' : 'Active' };
    const [, mark = ' ', rest = ''] = /^(?:[-*] |\d+[.)] )?\[([^\]]?)\]\s*(?=\S|$)(.*)$/.exec(line) ?? ['', ' ', line];
    const state = states[mark];
    if (state === undefined) throw new ArgumentError(`plan: [${mark}] is no state; write [ ] open, [>] active or [x] done`);
    if (rest === '') throw new ArgumentError(`plan: the item "${line}" has no words; say what is to be done`);
    return { text: rest, state };
  });
}
