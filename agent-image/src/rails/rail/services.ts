import { args, hasFlag, lookup, operands, type Command } from '../shell/command.ts';
import { hasHole, plain } from '../shell/marks.ts';
import { hostsOf, isLoopback } from '../shell/hosts.ts';
import { found, nothing, type Found, type Rail } from './rail.ts';

const infrastructure: Readonly<Record<string, RegExp>> = {
  terraform: /^(?:destroy|apply|import|taint|untaint|force-unlock|state (?:rm|mv|push)|workspace delete)\b/,
  tofu: /^(?:destroy|apply|import|taint|force-unlock|state (?:rm|mv|push)|workspace delete)\b/,
  terragrunt: /^(?:destroy|apply|run-all)\b/,
  pulumi: /^(?:up|destroy|refresh|import|cancel|stack rm|state delete)\b/,
  cdk: /^(?:deploy|destroy|bootstrap)\b/,
  serverless: /^(?:deploy|remove)\b/,
  eksctl: /^(?:create|delete|scale|upgrade|drain)\b/,
  doctl: /\b(?:create|delete|resize|rebuild)\b/,
  fly: /^(?:deploy|destroy|scale|secrets|apps destroy|launch)\b/,
  flyctl: /^(?:deploy|destroy|scale|secrets|apps destroy|launch)\b/,
  wrangler: /^(?:deploy|publish|delete|secret)\b/,
  firebase: /^(?:deploy|[\w:]*delete)\b/,
  'ansible-playbook': /^./,
  flyway: /^clean\b/,
  liquibase: /^(?:drop-?all)\b/i,
  docker: /^(?:push|login|system prune|volume (?:rm|prune)|image prune|container prune|network prune|kill)\b/,
  podman: /^(?:push|login|system prune|volume (?:rm|prune)|image prune)\b/,
  helm: /^(?:uninstall|delete|upgrade|install|rollback|push)\b/,
  skopeo: /^(?:copy|delete|sync)\b/,
  dotnet: /^nuget (?:push|delete)\b/,
  vsce: /^(?:publish|unpublish)\b/,
  gradle: /\bpublish\w*\b/,
  gradlew: /\bpublish\w*\b/,
  lerna: /^publish\b/,
  goreleaser: /^release\b/,
};
const load = /^(?:hey|wrk2?|ab|siege|vegeta|k6|locust|bombardier|autocannon|slowhttptest|hping3|oha)$/;

const clients = /^(?:psql|mysql|mariadb|sqlite3|mongosh?|redis-cli|cqlsh|clickhouse-client|duckdb|sqlcmd|valkey-cli)$/;
const makers = /^(?:dropdb|dropuser|mysqladmin)$/;
/** Places that are made for trying. */
const tried =
  /test|scratch|tmp|temp|sandbox|sample|demo|fixture|throwaway|:memory:|(?:^|[\s=/@])(?:localhost|127\.0\.0\.1|\[?::1)|(?:^|[\W_])(?:dev|ci|local|spec)(?:[\W_]|$)/i;
const losing: readonly (readonly [RegExp, string])[] = [
  [/\bdrop\s+(?:database|schema|table|user|role|owned)\b(?!\s+if\s+exists\s+\w*(?:tmp|temp|test|scratch))/i, 'drops what data is kept in'],
  [/\btruncate\s+(?:table\s+)?\w/i, 'empties tables'],
  [/\bdelete\s+from\s+[\w."`]+\s*(?:;|$|["']|where\s+(?:1|true|1\s*=\s*1)\s*(?:;|$|["']))/i, 'deletes every row'],
  [/\balter\s+table\b[\s\S]{0,800}\b(?:drop\s+column|alter\s+column\s+\S+\s+(?:set\s+data\s+)?type\b[\s\S]{0,800}\busing\b|modify\s+column)/i, 'cuts what columns hold'],
  [/\bconfig\s+(?:set|rewrite|resetstat)\b|\b(?:slaveof|replicaof)\s+\S|\bmodule\s+load\b|\bshutdown\s+(?:nosave|save|now)\b|\balter\s+system\b|\bsession_replication_role\b/i, 'changes how a server works for all'],
  [/\bsecurity\s+definer\b[\s\S]{0,800}\bexecute\b|\bgrant\b[\s\S]{0,800}\bto\s+public\b|\bcopy\b[\s\S]{0,800}\b(?:to|from)\s+program\b|\binto\s+outfile\b|\bdisable\s+(?:trigger|row\s+level)/i, 'hands out rights, or takes a protection away'],
  [/\bupdate\s+[\w."`]+\s+set\b(?![\s\S]{0,800}\bwhere\b)/i, 'changes every row'],
  [/\bpg_(?:terminate|cancel)_backend\s*\([^)]{0,40}\)[\s\S]{0,800}\bpg_stat_activity\b|\bclient\s+kill\s+type\b/i, 'ends work of others'],
  [/\bflush(?:all|db)\b/i, 'empties the store'],
  [/\bdrop(?:Database|Collection|User)?\s*\(|\b(?:deleteMany|remove)\s*\(\s*\{\s*\}\s*\)/, 'empties the store'],
  [/\b(?:create|alter)\s+(?:role|user)\b[\s\S]{0,800}\b(?:superuser|createrole|bypassrls)\b|\bgrant\s+(?:all\b|pg_(?:execute_server_program|(?:read|write)_server_files)|rds_superuser)|\brole\s*=\s*'admin'|\binsert\s+into\s+users\b[\s\S]{0,800}\badmin\b/i, 'hands out rights'],
]; // prettier-ignore

/** Services that others rely on, and data that no snapshot of the sandbox holds. */
export const services: Rail = {
  id: 'services',
  title: 'changing infrastructure, publishing, emptying data bases, loading machines of others',
  severity: 'High',
  risk: 'External',
  cure: 'Work on copies that the task made for itself (a test data base, a plan, a dry run), and leave the rest to a person.',
  check(command) {
    const { name } = command;
    const line = operands(command).map(plain).join(' ');
    if (hasFlag(command, '', '--dry-run', '--help', '--version')) return nothing;
    if (name === 'ansible-playbook' && hasFlag(command, 'C', '--syntax-check', '--check', '--list-tasks', '--list-hosts', '--list-tags'))
      return nothing;
    if (lookup(infrastructure, name)?.test(line) === true)
      return found('High', `${name} ${line.split(' ', 1)[0] ?? ''} changes what runs or is kept elsewhere`);
    if (load.test(name) && hostsOf(command).some((host) => host.includes('.') && !isLoopback(host) && !/^0\.0\.\d+\.\d+$/.test(host)))
      return found('High', `${name} loads a machine of somebody else`);
    const what = queued(command, line) ?? wiped(command, line);
    if (what !== null) return found('High', `${name} ${what}`);
    return clients.test(name) || makers.test(name) ? emptied(command, line) : nothing;
  },
};

function emptied(command: Command, line: string): readonly Found[] {
  const text = [...args(command), command.stdin?.text ?? ''].join('\n');
  const where = [...args(command).filter((word) => !/\s/.test(word)), ...[...command.env.values()].map(({ text: value }) => value)].join(
    ' ',
  );
  // A store on a port of its own, and no host: one that this machine started.
  const port =
    /^(?:redis|valkey)-cli$/.test(command.name) && !hasFlag(command, 'hus') ? /(?:^|\s)-p\s(?!6379\s)\d+/.test(`${where} `) : false;
  const isTried = (port || tried.test(where)) && !hasHole(where) && !/prod|live|master/i.test(where);
  if (isTried) return nothing;
  if (command.name.startsWith('drop')) return found('High', `${command.name} ${line} drops what data is kept in`);
  const what = losing.find(([pattern]) => pattern.test(plain(text)))?.[1];
  return what === undefined ? nothing : found('High', `${command.name} ${what}`);
}

const brokers =
  /^(?:rabbitmqctl|rabbitmqadmin|kafka-(?:topics|configs|delete-records|consumer-groups|acls)|nats|pulsar-admin|rpk)(?:\.sh)?$/;
/** Arguments that take messages away, or have them taken away. */
const drains =
  /(?:^|\s)(?:purge|delete|purge_queue|delete_queue|delete_vhost|delete_user|reset|force_reset|topic (?:delete|alter)|stream (?:rm|purge))(?=\s|$)|--(?:delete|offset-json-file|remove)\b|--execute\b|--alter\b[\s\S]{0,300}(?:retention|cleanup\.policy|segment)/;

/** Describes what such a command takes away from services that pass messages, or from a store of another machine; null: nothing. */
function queued(command: Command, line: string): string | null {
  const text = args(command).map(plain).join(' ');
  const isTried = tried.test(text) && !/prod|live|master/i.test(text);
  if (brokers.test(command.name)) return !isTried && (drains.test(line) || drains.test(text)) ? 'takes messages of others away' : null;
  if (!/^(?:redis-cli|valkey-cli)$/.test(command.name) || isTried || !hasFlag(command, 'h', '--host')) return null;
  return /(?:^|\s)(?:unlink|del)(?:\s|$)/i.test(text) && operands(command).some(hasHole)
    ? 'deletes keys that only the run would tell'
    : null;
}

/** Programs of a framework that are given code of their own. */
const runsCode = /(?:^|\s)(?:runner|console|shell|shell_plus|eval|tinker)(?=\s|$)/;
const losesRows = /\b(?:drop_table|delete_all|destroy_all|truncate|drop_column|remove_column|forceDelete|\.delete\(\)|flush)\b/;

/** Commands of frameworks that make a data base anew, with what was in it gone. */
const remakes =
  /(?:^|\s)(?:db:(?:drop|reset|schema:load|structure:load|purge|wipe|truncate_all|setup|migrate:reset)|migrate:(?:fresh|reset)|(?:migrate|db push) \S*reset|migrate reset|ecto\.(?:drop|reset)|flush|reset_db|sqlflush|downgrade base|schema:drop|doctrine:(?:database|schema):drop|database drop)(?=\s|$)/;
const frameworks =
  /^(?:rails|rake|bin\/rails|php|artisan|console|mix|manage\.py|python[\d.]*|django-admin|prisma|sequelize(?:-cli)?|knex|typeorm|alembic|flask|dotnet|npx)$/;
const unguarded = /^(?:DISABLE_DATABASE_ENVIRONMENT_CHECK|PRISMA_USER_CONSENT_FOR_DANGEROUS_AI_ACTION)$/;
const environment = /^(?:RAILS_ENV|RACK_ENV|APP_ENV|NODE_ENV|MIX_ENV|DJANGO_SETTINGS_MODULE|DATABASE_URL|PGDATABASE)$/;

/** Describes what such a command does to a data base that is none for trying; null: nothing. */
function wiped(command: Command, line: string): string | null {
  const { name, env } = command;
  const whole = [...args(command).map(plain), ...[...env.values()].map(({ text }) => text)].join(' ');
  if (frameworks.test(name) && runsCode.test(whole) && losesRows.test(whole) && /\b(?:production|prod|live)\b/.test(whole))
    return 'takes away what a data base in use holds';
  if (!frameworks.test(name) || !remakes.test(` ${args(command).map(plain).join(' ')}`)) return null;
  const set = [...env].filter(([key]) => environment.test(key)).map(([, { text }]) => text);
  const guarded = ![...env.keys()].some((key) => unguarded.test(key));
  const isTried = set.length > 0 && set.every((text) => tried.test(text) || /^(?:development|testing)$/.test(text));
  if (guarded && (isTried || (set.length === 0 && !/prod|live/i.test(line)))) return null;
  return 'makes a data base anew; what was in it is gone';
}
