import type { ConversationEntry } from '@agentfleet/protocol/results';
import { printable, printableLines } from '@agentfleet/protocol/text';
import { tellNote } from './notes.ts';

/** Lines of one text that are shown; more are counted. */
const mostLines = 12;
const longest = 400;

function cut(text: string): string {
  return text.length <= longest ? text : `${text.slice(0, longest)}…`;
}

function body(text: string, most: number): readonly string[] {
  const lines = printableLines(text.trim()).filter((line) => line !== '');
  const rest = lines.length - most;
  return [...lines.slice(0, most).map(cut), ...(rest > 0 ? [`… ${rest} more lines`] : [])];
}

/** An entry in words: a head, and what stands below it. */
function entryLines(entry: ConversationEntry, most: number): readonly string[] {
  switch (entry.type) {
    case 'Began':
      return [`conversation with ${entry.expert}, ${entry.tools.length} tools`, ...body(entry.goal, most)];
    case 'Assistant': {
      const { usage, proposals } = entry;
      const spent = usage === undefined ? '' : `, ${usage.input} tokens in, ${usage.output} out`;
      const chosen = proposals > 1 ? `, chosen of ${proposals}` : '';
      return [
        `model, step ${entry.step}${chosen}${spent}`,
        ...body(entry.text, most),
        ...entry.calls.map((call) => cut(`→ ${printable(call.name)} ${printable(call.arguments)}`)),
      ];
    }
    case 'Observation': {
      const how = entry.refused === undefined ? (entry.notRun ? 'not run' : entry.ok ? 'done' : 'failed') : `refused by ${entry.refused}`;
      return [`${entry.tool}: ${how}`, ...body(entry.text, most)];
    }
    case 'User':
      return [{ Notice: 'notice', Person: 'a person', Summary: 'summary' }[entry.origin], ...body(entry.text, most)];
    case 'Rewound':
      return [`taken back to the tree after step ${entry.toStep}`];
    case 'Decision': {
      const by = entry.requester === undefined ? 'nobody in time' : entry.requester;
      return [`${entry.decision} by ${by}: ${entry.summary}`, ...body(entry.answer ?? entry.why ?? '', most)];
    }
    case 'Snapshot':
      return [`snapshot ${entry.id} ${entry.label}`];
    case 'Restored':
      return [`restored ${entry.id}${entry.verified ? '' : ', NOT verified'}`];
    case 'Note': {
      const { kind, text, more = [] } = tellNote({ kind: entry.kind, data: entry.data });
      // The output of a program is what a log is for.
      return [`${kind.toLowerCase()} ${text}`, ...(kind === 'Program' ? more : more.slice(0, most))];
    }
    case 'Pause':
    default:
      return [];
  }
}

/** An entry of a conversation for people, safe for a terminal; `most` lines of each text. Pure. */
export function conversationLines(entry: ConversationEntry, most = mostLines): readonly string[] {
  const [head, ...more] = entryLines(entry, most);
  if (head === undefined) return [];
  return [`${printable(entry.at.slice(11, 19))} ${printable(cut(head))}`, ...more.map((line) => `         ${printable(line)}`)];
}
