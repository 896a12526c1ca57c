import { Argument, InvalidArgumentError, Option, type Command } from 'commander';
import { completionScript, shells } from './completion.ts';
import { connected, type Dispatch, locally, seconds } from './dispatch.ts';
import { formatOption } from './views.ts';

function addUninstall(program: Command, dispatch: Dispatch): void {
  program
    .command('uninstall')
    .description('list, or delete, all objects of the fleet in all namespaces, so that nothing is stuck when the operator goes')
    .option('--yes', 'delete them')
    .option('--timeout <seconds>', 'how long to wait until they are gone', seconds, 600)
    .action(connected(dispatch, () => import('../commands/uninstall.ts'), 'uninstall'));
}

function addBackup(program: Command, dispatch: Dispatch): void {
  program
    .command('backup <file>')
    .description(
      'write all objects of the fleet, of all namespaces or that of -n, into a file; what they name outside is listed at its head',
    )
    .action(connected(dispatch, () => import('../commands/backup.ts'), 'backup'));
  program
    .command('restore <file>')
    .description(
      'make the objects of a backup again while no operator runs; tasks that have ended keep their status, those that had begun are suspended',
    )
    .option('--open-rollouts', 'pools and models whose rollout was under way begin with what their spec asks for')
    .action(connected(dispatch, () => import('../commands/restore.ts'), 'restore'));
}

function port(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 65_535) throw new InvalidArgumentError('write a port from 0 to 65535');
  return value;
}

function addMcp(program: Command, dispatch: Dispatch): void {
  program
    .command('mcp')
    .description('serve the fleet to MCP clients, with your own credentials: on standard input and output, or on the loopback')
    .option('--http <port>', 'streamable HTTP at this port of 127.0.0.1, behind a token that is printed; 0: a free port', port)
    .option('--tools <names>', 'only these tools, by comma: submit,list,status,diff,approve,reject,answer,cancel', (text) =>
      text.split(','),
    )
    .action(connected(dispatch, () => import('../commands/mcp.ts'), 'mcp'));
}

function addDashboard(program: Command, dispatch: Dispatch): void {
  program
    .command('dashboard')
    .description('serve the dashboard on the loopback, with your own credentials, and print its address')
    .option('--port <port>', 'port of 127.0.0.1; 0: a free one', port, 8090)
    .option('--read-only', 'show, and change nothing')
    .action(locally(dispatch, () => import('../commands/dashboard.ts'), 'dashboard'));
}

function addInit(program: Command, dispatch: Dispatch): void {
  program
    .command('init')
    .description('write a first pool: a Secret with the key of an endpoint, and an ExpertPool that uses it; asks for what is missing')
    .option('--endpoint <url>', 'base URL of a model behind an API')
    .option('--model <name>', 'name of the model there')
    .addOption(new Option('--type <api>', 'which API it speaks').choices(['OpenAI', 'Anthropic']).default('OpenAI'))
    .option('--key-file <path>', 'file with the key')
    .option('--key-env <variable>', 'variable of the environment with the key')
    .option('--no-key', 'the endpoint takes no key, such as a server of your own')
    .option('--git <url>', 'a repository, or its server, that results go back to: the pool gets the credential "git" for its host')
    .option('--git-key-file <path>', 'file with the token that may push and open pull requests')
    .option('--git-key-env <variable>', 'variable of the environment with it')
    .option('--git-private', 'the server has a private address: list it in policy.allowedHosts, which closes all other hosts to commands')
    .option('--name <name>', 'of the pool', 'default')
    .option('-A, --all-namespaces', 'tasks of all namespaces may use it; default: those of its own')
    .option('--dry-run', 'print the pool, write nothing')
    .action(connected(dispatch, () => import('../commands/init.ts'), 'init'));
}

function addDoctor(program: Command, dispatch: Dispatch): void {
  program
    .command('doctor')
    .description('look at all that a cluster has to have: server, definitions, operator, network, pools, storage, permissions')
    .addOption(formatOption())
    .action(connected(dispatch, () => import('../commands/doctor.ts'), 'doctor'));
}

/** Commands about the fleet of a cluster, and about this program. */
export function addCluster(program: Command, dispatch: Dispatch): void {
  addDoctor(program, dispatch);
  addInit(program, dispatch);
  addBackup(program, dispatch);
  addMcp(program, dispatch);
  addDashboard(program, dispatch);
  addUninstall(program, dispatch);
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .description('print a script that completes commands and options: source <(fleet completion bash)')
    .action((shell: (typeof shells)[number]) => dispatch.locally(({ print }) => Promise.resolve(print(completionScript(program, shell)))));
}
