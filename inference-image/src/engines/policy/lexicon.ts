/**
 * Patterns that a security engineer checks first. A concept is weaker than a rule: it never decides, the classifier
 * learns its weight, alone and beside others. Matched on the raw text, so that programs inside strings count too.
 */
export const concepts: Readonly<Record<string, RegExp>> = {
  deletes: /\b(rm|unlink|shred|rmtree|rmSync|rmdir|removeSync|wipefs|userdel)\b|-delete\b|\bos\.remove\b|--remove-files|--delete\b/,
  recursive: /\s-[a-z]*[rR][a-z]*\b|--recursive|\s-xdev\b|rmtree|recursive: true/,
  everything: /(^|[\s'"=(])(\/|~|\$HOME|\/\*|~\/\*?|\$HOME\/\*?)(?=$|[\s'";,)])|--no-preserve-root|preserve-root|(\.\.\/){2,}\*/,
  systemPath: /(^|[\s'"=(>:@])\/(etc|usr|var|lib|boot|bin|sbin|opt|srv|home|root|sys)\b/,
  wholeTree: /(^|[\s'"(])(\/|~|\/(etc|usr|var|lib|boot|opt|srv|home)\S*)\/?\*?(?=$|[\s'";,)])/,
  device: /\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|mapper)/,
  formats: /\b(mkfs(\.\w+)?|fdisk|parted|dd|lvremove|debugfs|mklabel)\b/,
  stopsMachine: /\b(shutdown|reboot|halt|poweroff|sysrq|kexec)\b|\bkill(all)?\s+-9\s+-1|killall\b|pkill\s+-9|fork\b/,
  dropsData:
    /\bdrop\s+(database|table|schema)|\btruncate\s+(table\s+)?\w+\s+(cascade|;)?|flushall|dropDatabase|dropdb|\bdestroy\b|delete\s+(namespace|pods?|pvc|projects)\b|--all\b|\bprune\b|\brb\b/i,
  production: /\bprod(uction)?\b|\bbackups?\b|--force\b(?!-)|-auto-approve|--purge|cascade/i,
  rewritesHistory: /push\s.*(--force(?!-)|--mirror|--delete|\s:\w)|filter-branch|reflog\s+expire|rm\s+-rf\s+\.git\b/,
  outside:
    /\b(https?|ftp|rsync|tcp):\/\/(?!localhost|127\.|0\.0\.0\.0)|\b(?!127\.|0\.0\.0\.0)\d{1,3}(\.\d{1,3}){3}\b|\w@[\w-]+(\.[\w-]+)+:|\/dev\/(tcp|udp)\//,
  sends:
    /\bcurl\b.*(\s-(d|F|T|H)\b|--data|--upload-file|-X\s*POST)|--post-file|\b(nc|ncat|netcat|scp|sftp|socat|rsync|mail|telnet)\b|requests\.post|urlopen|sendall|http\.Post|\bPOST\b|\.connect\(|\bdig\b|nslookup|gethostbyname|s_client/,
  fetches: /\b(curl|wget|urlopen|fetch)\b/,
  secretFile:
    /\.ssh\b|id_(rsa|ed25519|dsa)|\.aws\b|\.netrc|\.kube\b|\.npmrc|(^|[\s'"/@<])\.env\b(?!\.example)|git-credentials|gcloud|serviceaccount\/token|\.docker\/config|\/etc\/(shadow|passwd)|\.gnupg|\.pem\b|\.key\b|\/run\/secrets|secret-keys/,
  secretName: /\b[A-Z_]*(SECRET|TOKEN|PASSWORD|API_KEY|PRIVATE)[A-Z_]*\b|\bsecrets?\b|credentials|password/,
  environment: /\b(printenv|os\.environ|process\.env|os\.Environ|environ)\b|(^|[|;&(\s])env\s*([|)]|$)/,
  metadata: /169\.254\.169\.254|metadata\.google|config view --raw/,
  archives: /\b(tar\s+-?c|zip\s+-r|gzip|bundle\s+create|pg_dump|mysqldump)/,
  encodes: /\b(base64|xxd|hex|gpg|openssl\s+enc)\b/,
  searchesAll: /\b(find|grep\b.*-\w*r\w*)\b.*\s(\/|~|\/etc|\/home)(\s|$)/,
  servesFiles: /http\.server|--directory|--bind/,
  runsFetched: /\|\s*(sudo\s+)?(ba|da|z)?sh\b|<\(\s*curl|\$\(\s*(curl|wget)|`(curl|wget)|\bexec\s*\(|\beval\b/,
  interactiveShell: /\b(ba|z)?sh\s+-i\b|\/bin\/(ba)?sh\b|\bpty\b|EXEC:|fsockopen|TCPSocket|dup2/,
  hostProcess: /\/proc\/(1|\*)\/|nsenter|--target\s+1|-t\s+1\b|-p\s+1\b|--pid=host|hostPID|hostNetwork|hostPath|pid:\s*host|setns|ptrace/,
  namespaces: /\b(unshare|chroot|nsenter|mount|capsh|setcap|setpriv|mknod|insmod|modprobe|sysctl|pivot_root)\b/,
  kernel: /\/proc\/sys\/|\/sys\/fs|core_pattern|release_agent|cgroup|\.ko\b/,
  privileged: /privileged|cap_sys_admin|cluster-admin|-perm\s+-?4|\bu?\+s\b|\b4[0-7]{3}\b|setuid|LD_PRELOAD|ld\.so\.preload/,
  root: /\bsudo\b|\bsu\s+(-|root)|pkexec|\broot\b|NOPASSWD|--uid=0|-u\s+0\b/,
  runtimeSocket: /docker\.sock|containerd|crictl|\bctr\b|unix:\/\//,
  tunnel: /\bssh\b.*\s-(R|D|L|N)\b|chisel|tunnel|socks/,
  link: /\bln\s+-s\w*|symlink/,
  temporaryProgram: /\/tmp\/[.\w]+/,
  startup:
    /\.(bashrc|profile|zshrc|bash_profile)\b|\/etc\/(profile|rc\.local|cron|init\.d|systemd|pam\.d|sudoers)|\bcrontab\b|@reboot|\bsystemctl\b.*\b(enable|start)\b|autostart|systemd\/|update-rc\.d|WantedBy|\bat\s+(now|midnight)|cron\./,
  detaches: /\b(nohup|disown|setsid|screen\s+-d|tmux\s+new|daemon|telnetd|dropbear)\b|&\s*$|--restart=always/,
  accounts: /authorized_keys|ssh-copy-id|useradd|adduser|usermod|passwd\b|sudoers|chpasswd|sshd_config|PermitRootLogin|ssh-(rsa|ed25519)\s/,
  gitHooks: /\.git\/hooks|hooksPath|core\.\w+Command|alias\.\w+\s/,
  replacesPrograms:
    /\b(cp|mv|install|ln|echo)\b.*\s(\/usr\/(local\/)?s?bin|\/bin)\/\w|node_modules\/\.bin|sitecustomize|site-packages|\.pth\b|script-shell|ca-certificates/,
  globalConfig: /--global\b|--location=global|config\s+set|resolv\.conf|\/etc\/hosts|registry=|index-url/,
  testPath: /(^|[\s'"/])(tests?|spec|__tests__)(\/|\b)|\.test\.\w+|_test\.\w+|_spec\.\w+|conftest\.py/,
  changesFiles: /\b(sed\s+-i|perl\s+-pi|mv|cp|truncate|tee|rm|git\s+rm|touch)\b|>\s*\S|checkout\s+\S+\s+--/,
  neutralises:
    /\bassert\s+True\b|assertTrue|expect\(true\)|\.skip\b|\bskip_?\b|xfail|t\.Skip|\|\|\s*(true|exit 0)|exit\s+0\b|exit\(0\)|_exit|process\.exit|exitstatus|exitCode\s*=\s*0|\/bin\/true|\bpass\b|assert\/d|assert\.\*/,
  skipsChecks:
    /--no-verify|passWithNoTests|--deselect|--ignore|collect_ignore|testPathIgnore|assume-unchanged|skip-worktree|continue-on-error|fail.under|items\.clear|-u\s+\S*test/,
  checkScripts:
    /scripts[./](test|check)|"test":|pytest\.ini|addopts|Makefile|vitest\.config|\.github\/workflows|pyproject|pre-(push|commit)|\btest:\s/,
  logs: /\/var\/log|\.log\b|bash_history|HISTFILE|HISTSIZE|history\s+-c|journalctl|wtmp|lastlog/,
  watchers: /auditd|auditctl|rsyslog|keeper|watchdog|setenforce|\bufw\b|iptables|selinux|apparmor|audit\b/,
  times: /\btouch\s+-[rdt]|date\s+-s|_DATE=|--date\b|--reset-author|--amend|git\s+replace|rebase.*--exec/,
  detectsTest: /PYTEST|VITEST|NODE_ENV\s*===|"unittest"\s+in|TestCase\.\w+\s*=/,
  runsTests:
    /^(python3?\s+-m\s+(pytest|unittest)|pytest|npx\s+(vitest|jest|mocha)|(npm|yarn|pnpm)\s+(run\s+)?test|go\s+test|cargo\s+test|node\s+--test|make\s+(test|check)|vitest|jest|bundle\s+exec\s+rspec)\b/,
  onlyReads: /^(cat|less|head|tail|grep|rg|wc|ls|tree|diff|git\s+(diff|log|show|status|blame)|du|df|ps|jq|which)\b(?!.*[|>;&])/,
  developerTool: /^(git|npm|npx|pip|python3?|node|go|cargo|make|docker\s+(build|logs|compose)|yarn|pnpm|poetry|mvn|ruff|black|mypy|tsc)\b/,
  clusterPowers: /kube-system|cluster-admin|daemonset|serviceaccount|clusterrolebinding/i,
  ordinary: /\b(build|dist|out|target|node_modules|coverage|__pycache__|\.pytest_cache|\.mypy_cache|tmp\/cache)\b/,
  local: /localhost|127\.0\.0\.1/,
  example: /\.example\b|--dry-run|--check\b|-nd\b|--plan\b|--help\b|--version\b/,
};
