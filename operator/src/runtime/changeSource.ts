import { channel, type Source } from '@agentfleet/kube';

/** What is known of the cluster and changes without an event of a cache. */
export interface Changing {
  /** Calls the listener after every change; the function returned ends that. */
  onChange(listener: () => void): () => void;
}

/** A source that fires for all of `keys` at every change. */
export function changeSource(of: Changing, keys: () => readonly string[]): Source {
  const changed = channel('changes');
  const start: Source['start'] = (enqueue) => {
    const onChange = (): void => {
      for (const key of keys()) changed.enqueue(key);
    };
    const ends = [of.onChange(onChange), changed.source.start(enqueue)];
    return () => {
      for (const end of ends) end();
    };
  };
  return { ...changed.source, start };
}
