/**
 * What calls of a programming language do, said as the shell command that would do the same: so the
 * rails have one thing to judge. Keys are `module.name`; `$0` is the first argument and so on.
 */
export type Effect =
  | { readonly kind: 'shell' | 'argv' | 'spawn' | 'code' }
  | { readonly kind: 'command'; readonly argv: readonly string[] }
  | { readonly kind: 'open' };

const command = (...argv: readonly string[]): Effect => ({ kind: 'command', argv });

const table: readonly (readonly [RegExp, Effect])[] = [
  [
    /^(?:os\.(?:system|popen)|subprocess\.(?:getoutput|getstatusoutput)|commands\.getoutput|child_process\.exec(?:Sync)?|execSync|pexpect\.(?:spawn|run)|asyncio\.create_subprocess_shell|Bun\.\$)$/,
    { kind: 'shell' },
  ],
  [
    /^(?:subprocess\.(?:run|call|Popen|check_call|check_output)|pty\.spawn|Bun\.spawn(?:Sync)?|asyncio\.create_subprocess_exec)$/,
    { kind: 'argv' },
  ],
  [/^(?:child_process\.(?:spawn|spawnSync|execFile|execFileSync)|os\.(?:exec[lv]p?e?|spawn[lv]p?e?|posix_spawnp?))$/, { kind: 'spawn' }],
  [
    /^(?:eval|exec|builtins\.(?:eval|exec)|__builtins__\.(?:eval|exec)|Function|vm\.run\w*|vm\.Script|globalThis\.eval|code\.interact|runpy\.run_\w+)$/,
    { kind: 'code' },
  ],
  [
    /^(?:shutil\.rmtree|distutils\.dir_util\.remove_tree|fs\.(?:rm|rmSync|rmdir|rmdirSync)|fs-extra\.(?:remove|removeSync|emptyDirSync)|rimraf(?:\.sync|\.rimraf)?|Deno\.remove(?:Sync)?)$/,
    command('rm', '-rf', '$0'),
  ],
  [/^(?:os\.(?:remove|unlink|rmdir|removedirs)|fs\.(?:unlink|unlinkSync)|send2trash)$/, command('rm', '$0')],
  [/^(?:open|io\.open|codecs\.open|os\.open|os\.fdopen|fs\.(?:open|openSync))$/, { kind: 'open' }],
  [/^fs\.(?:readFile|readFileSync|createReadStream|readdir|readdirSync)$/, command('cat', '$0')],
  [/^fs\.(?:writeFile|writeFileSync|appendFile|appendFileSync|createWriteStream|truncate|truncateSync)$/, command('tee', '$0')],
  [
    /^(?:shutil\.(?:copy|copyfile|copy2|copytree|move)|os\.(?:rename|replace|renames)|fs\.(?:copyFile|copyFileSync|cp|cpSync))$/,
    command('cp', '$0', '$1'),
  ],
  [/^fs\.(?:rename|renameSync)$/, command('mv', '$0', '$1')],
  [/^(?:os\.(?:symlink|link)|fs\.(?:symlink|symlinkSync|link|linkSync))$/, command('ln', '-s', '$0', '$1')],
  [/^(?:os\.(?:chmod|lchmod)|fs\.(?:chmod|chmodSync))$/, command('chmod', '$1', '$0')],
  [/^(?:os\.(?:chown|lchown)|fs\.(?:chown|chownSync))$/, command('chown', '$1', '$0')],
  [/^(?:os\.(?:kill|killpg))$/, command('kill', '-9', '$0')],
  [/^process\.kill$/, command('kill', '-9', '$0')],
  [/^os\.(?:setuid|seteuid|setgid)$|^process\.set(?:e?uid|e?gid)$/, command('su')],
  [/^os\.(?:unshare|setns|chroot|mount)$/, command('unshare')],
  [/^os\.(?:fork|forkpty)$/, command('fork')],
  [/^(?:os\.environ\.(?:items|copy|values)|json\.dumps\(os\.environ\))$/, command('printenv')],
  [
    /^(?:requests|httpx|urllib3|aiohttp|urllib\.request|urllib2|axios|got|undici|http|https|node-fetch|superagent)\.(?:get|post|put|patch|delete|head|request|urlopen|urlretrieve|Request|stream)$|^(?:fetch|axios|got|urlopen|Deno\.connect|websockets\.connect|WebSocket)$/,
    command('curl', '$0'),
  ],
  [
    /^(?:socket\.(?:socket|create_connection)|net\.(?:connect|createConnection)|tls\.connect|dgram\.createSocket|http\.client\.HTTPS?Connection|ftplib\.FTP|smtplib\.SMTP|telnetlib\.Telnet|paramiko\.\w+|asyncio\.open_connection)$/,
    command('nc', '$0'),
  ],
];

export function effectOf(name: string): Effect | null {
  return table.find(([pattern]) => pattern.test(name))?.[1] ?? null;
}

/** Methods of a path object, whose own text is the first argument. */
export const pathMethods: Readonly<Record<string, readonly string[]>> = {
  unlink: ['rm', '$0'],
  rmdir: ['rm', '-r', '$0'],
  rmtree: ['rm', '-rf', '$0'],
  write_text: ['tee', '$0'],
  write_bytes: ['tee', '$0'],
  read_text: ['cat', '$0'],
  read_bytes: ['cat', '$0'],
  chmod: ['chmod', '$1', '$0'],
  symlink_to: ['ln', '-s', '$1', '$0'],
  rename: ['mv', '$0', '$1'],
  replace: ['mv', '$0', '$1'],
};
