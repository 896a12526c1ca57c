import { maxMessagesTaken } from '@agentfleet/protocol/api';
import type { AttemptContext } from '../attempt/ports.ts';
import type { Reporter } from '../report/index.ts';
import type { Newest } from './newest.ts';

/** What the engine is given of messages: those of `status.messages` that no report of this task has named as taken. */
export function messagesOf(
  newest: Pick<Newest, 'messages'>,
  reporter: Pick<Reporter, 'run' | 'report'>,
): Required<Pick<AttemptContext, 'messages' | 'messageTaken'>> {
  const taken = (): readonly string[] => reporter.run.messagesTaken ?? [];
  return {
    messages: () => {
      const known = new Set(taken());
      return newest.messages().flatMap(({ id, text, requester }) => (known.has(id) ? [] : [{ id, text, by: requester }]));
    },
    messageTaken: (id) => {
      const known = taken();
      if (known.includes(id)) return;
      reporter.report({ messagesTaken: [...known, id].slice(-maxMessagesTaken) }, { urgent: true });
    },
  };
}
