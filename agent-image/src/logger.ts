import { logLevels, type LogLevel } from '@agentfleet/protocol/environment';
import type { Log } from '@agentfleet/kube';

export { logLevels, type LogLevel };

/** One JSON object per line. Fields never overwrite level, time and message. */
export function createLog(level: LogLevel, write: (line: string) => void, now: () => number): Log {
  const threshold = logLevels.indexOf(level);
  const at = (name: LogLevel) => (message: string, fields?: Readonly<Record<string, unknown>>) => {
    if (logLevels.indexOf(name) < threshold) return;
    write(`${JSON.stringify({ ...fields, level: name, time: new Date(now()).toISOString(), msg: message })}\n`);
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
