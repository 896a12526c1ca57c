import { args, hasFlag, operands, type Command } from '../shell/command.ts';
import { hasHole, plain } from '../shell/marks.ts';
import { hostsOf, isLoopback } from '../shell/hosts.ts';
import { found, nothing, type Found, type Rail } from './rail.ts';

/** Tools that change infrastructure, and the words by which they do. */
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
  [/\bdelete\s+from\s+[\w."`]+\s*(?:;|$|["'])/i, 'deletes every row'],
  [/\bupdate\s+[\w."`]+\s+set\b(?![\s\S]*\bwhere\b)/i, 'changes every row'],
  [/\bflush(?:all|db)\b/i, 'empties the store'],
  [/\bdrop(?:Database|Collection|User)?\s*\(|\b(?:deleteMany|remove)\s*\(\s*\{\s*\}\s*\)/, 'empties the store'],
  [/\b(?:create|alter)\s+(?:role|user)\b[\s\S]*\bsuperuser\b|\bgrant\s+all\b|\brole\s*=\s*'admin'|\binsert\s+into\s+users\b[\s\S]*\badmin\b/i, 'hands out rights'],
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
    if (Object.hasOwn(infrastructure, name) && infrastructure[name]?.test(line) === true)
      return found('High', `${name} ${line.split(' ', 1)[0] ?? ''} changes what runs or is kept elsewhere`);
    if (load.test(name) && hostsOf(command).some((host) => host.includes('.') && !isLoopback(host)))
      return found('High', `${name} loads a machine of somebody else`);
    return clients.test(name) || makers.test(name) ? emptied(command, line) : nothing;
  },
};

function emptied(command: Command, line: string): readonly Found[] {
  const text = [...args(command), command.stdin?.text ?? ''].join('\n');
  const where = [...args(command).filter((word) => !/\s/.test(word)), ...[...command.env.values()].map(({ text: value }) => value)].join(
    ' ',
  );
  const isTried = tried.test(where) && !hasHole(where) && !/prod|live|master/i.test(where);
  if (isTried) return nothing;
  if (command.name.startsWith('drop')) return found('High', `${command.name} ${line} drops what data is kept in`);
  const what = losing.find(([pattern]) => pattern.test(plain(text)))?.[1];
  return what === undefined ? nothing : found('High', `${command.name} ${what}`);
}
