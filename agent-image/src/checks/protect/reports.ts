import { commandsOf, type SimpleCommand } from './commands.ts';
import { normal } from './paths.ts';

const options = /^--(?:junitxml|junit-xml|junitfile|log-junit|outputFile(?:\.junit)?|output-file|test-reporter-destination|xunit-file)$/;

/**
 * Returns the report files that a check's command names, relative to the workspace where they are in it. Remove them
 * before the run and pass them to `parseResults` after it: a report from before proves nothing.
 */
export function reportFiles(command: readonly string[]): string[] {
  return [...new Set(commandsOf(command).flatMap(reportsOf))].sort();
}

/** The report files of one simple command. */
export function reportsOf({ words }: SimpleCommand): string[] {
  const found = words.flatMap((word, at) => {
    const split = word.indexOf('=');
    if (split === -1) return options.test(word) ? [words[at + 1] ?? ''] : [];
    if (options.test(word.slice(0, split))) return [word.slice(split + 1)];
    return /^(?:mochaFile|output)=/.test(word) ? [word.slice(split + 1)] : [];
  });
  const files = found.filter((path) => /\.(?:xml|junit)$/i.test(path));
  return files.map((path) => normal(path) ?? (path.startsWith('/') ? path : null)).filter((path) => path !== null);
}
