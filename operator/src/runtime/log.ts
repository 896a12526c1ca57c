import { logLevels, type LogLevel } from '@agentfleet/protocol/environment';
import type { Log } from '@agentfleet/kube';

export { logLevels, type LogLevel };

/**
 * One JSON object per line. `now` is wall time in ms. A field cannot take the place of `level`, `time` or `msg`.
 */
export function jsonLog(level: LogLevel, write: (line: string) => void, now: () => number): Log {
  const threshold = logLevels.indexOf(level);
  const at =
    (own: Exclude<LogLevel, 'silent'>): Log['info'] =>
    (msg, fields = {}) => {
      if (logLevels.indexOf(own) < threshold) return;
      write(`${JSON.stringify({ ...fields, level: own, time: new Date(now()).toISOString(), msg })}\n`);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
