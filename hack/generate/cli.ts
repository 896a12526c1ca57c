import { createProgram } from '@agentfleet/cli';

type Program = Awaited<ReturnType<typeof createProgram>>;

const never = (): Promise<never> => Promise.reject(new Error('this program is only described'));
const program = await createProgram({ connected: never, locally: never }, ['eval']);

function optionLines({ options }: Pick<Program, 'options'>): readonly string[] {
  return options.map(({ flags, description, defaultValue, argChoices }) => {
    const choices = argChoices === undefined ? '' : `; one of ${argChoices.join(', ')}`;
    const shown = typeof defaultValue === 'string' || typeof defaultValue === 'number' ? `; default: ${defaultValue}` : '';
    return `- \`${flags}\`: ${description}${choices}${shown}`;
  });
}

/** A command and those below it, each with its options. */
function commandLines(command: Program, path: string): readonly string[] {
  const name = `${path} ${command.name()}`;
  if (command.commands.length > 0) return command.commands.flatMap((sub) => commandLines(sub, name));
  const args = command.registeredArguments.map((argument) => {
    const text = `${argument.name()}${argument.variadic ? '…' : ''}`.toUpperCase();
    return ` ${argument.required ? text : `[${text}]`}`;
  });
  const alias = command.aliases().map((other) => `Also \`${path} ${other}\`. `);
  return [
    `## ${name}`,
    '',
    `\`${name}${args.join('')}\``,
    '',
    `${alias.join('')}${sentence(command.description())}`,
    '',
    ...optionLines(command),
    '',
  ];
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** Every command of `fleet` with its options. */
export function cliPage(): string {
  return [
    '<!-- Made by `npm run generate` from cli/src/wiring/. -->',
    '# fleet',
    '',
    sentence(program.description().replace(/\.$/, '')),
    'It asks the API server as the user of the kubeconfig, through proxies as kubectl does; RBAC decides what it may do. Colours are for terminals only, and never with `NO_COLOR`.',
    '',
    'What a task left behind it reads by the [results API](results.md), under the same rights; `--endpoint` and `--file` are for clusters without it.',
    '',
    'Exit status, with cause and cure on standard error: `0` done; `1` not done; `6` the task ended without success; `7` the time to wait is over',
    'and the task goes on; `8` not allowed, or not logged in; `9` there is no such task, pool or artifact; `10` the cluster cannot be reached, is of',
    'another version, or lacks AgentFleet or the results API; `11` the task stood still for a minute, because its pool is not there or refuses it;',
    '`130` interrupted; `141` the reader of its output went away. `fleet undo` has [its own](../../cli/README.md#what-a-task-left-behind).',
    '',
    'Options of all commands:',
    '',
    ...optionLines(program),
    '',
    ...program.commands.flatMap((command) => commandLines(command, 'fleet')),
  ]
    .join('\n')
    .replace(/\n{3,}/g, '\n\n');
}
