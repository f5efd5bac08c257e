"""The command line in Chinese: each of its texts with its translation. A test keeps it in step with the code.

Terms: job 作业, queue 队列, worker 工作进程, node 节点, accelerator 加速卡, guarantee 保障, limit 上限,
borrowed 借用.
"""

ERRORS = {
    "Change what is named above; `gangline validate` checks a job file without submitting it.": (
        "请修改上面指出的内容；`gangline validate` 可以只检查作业文件而不提交。"
    ),
    "Log in with `gangline login`, or set GANGLINE_TOKEN.": (
        "请用 `gangline login` 登录，或设置 GANGLINE_TOKEN。"
    ),
    "See your roles with `gangline whoami` and your queues with `gangline queues`.": (
        "用 `gangline whoami` 查看您的角色，用 `gangline queues` 查看您的队列。"
    ),
    "See what there is with `gangline ps -a`.": "用 `gangline ps -a` 查看现有作业。",
    "Look at the present state with `gangline show` and try again if it still applies.": (
        "请用 `gangline show` 查看当前状态，如仍需要再重试。"
    ),
    "List large files that the job does not need in .ganglineignore.": (
        "请把作业不需要的大文件写入 .ganglineignore。"
    ),
    "Wait a little and try again.": "请稍后重试。",
    "{url} answers with a redirect to {target}.": "{url} 被重定向到 {target}。",
    "The portal has a problem: {message}": "门户出现问题：{message}",
    "Log in with that address: `gangline login URL`.": "请用那个地址登录：`gangline login URL`。",
    "{url} answers, but not as a Gangline portal does.": "{url} 有应答，但不是 Gangline 门户。",
    "Tell its operator the request's id: {id}.": "请把请求编号告诉运维人员：{id}。",
    "Check the address: `gangline login URL`.": "请检查地址：`gangline login URL`。",
    "{folder} holds no file to upload.": "{folder} 中没有可上传的文件。",
    "The code is larger than {limit}. Its largest files so far:": "代码超过 {limit}。目前最大的文件：",
    "Leave out `code` if the job needs none.": "如果作业不需要代码，请去掉 `code`。",
    "List what the job does not need in .ganglineignore (the patterns of .gitignore).": (
        "请把作业不需要的内容写入 .ganglineignore（写法同 .gitignore）。"
    ),
    "GANGLINE_HOME is {home}, which is no checkout of Gangline.": (
        "GANGLINE_HOME 为 {home}，但那里不是 Gangline 的源码目录。"
    ),
    "The platform itself is not here: this is the client alone.": "这里只有客户端，没有平台本身。",
    "The platform's packages are not installed ({names}).": "未安装平台所需的软件包（{names}）。",
    "Run it inside a checkout of Gangline, or set GANGLINE_HOME to one.": (
        "请在 Gangline 源码目录中运行，或用 GANGLINE_HOME 指明该目录。"
    ),
    "Run `make setup` in {folder}, or install its extras `server` and `runtime`.": (
        "请在 {folder} 中运行 `make setup`，或安装附加组件 `server` 和 `runtime`。"
    ),
    "The portal at {url} does not answer ({why}).": "门户 {url} 没有应答（{why}）。",
    "Check its address (`gangline login URL`) and that it runs (`gangline up` runs one here).": (
        "请检查地址（`gangline login URL`）以及门户是否在运行（`gangline up` 可在本机启动）。"
    ),
    "{path} is there already.": "{path} 已经存在。",
    "Choose another folder.": "请选择其他目录。",
    "No username was given.": "没有给出用户名。",
    "Nothing was given on standard input.": "标准输入中没有内容。",
    "Give it with --username.": "请用 --username 给出。",
    "“{text}” is not a rank.": "“{text}”不是有效的 rank。",
    "Give a number from 0 on, or `all`.": "请给出从 0 开始的数字，或 `all`。",
    "The job left no file “{path}”.": "作业没有留下文件“{path}”。",
    "The output's name “{path}” would leave the folder; it was not written.": (
        "输出文件名“{path}”会超出目标目录，因此没有写入。"
    ),
    "See `gangline outputs list`.": "请查看 `gangline outputs list`。",
    "Give --overwrite, or another folder with --to.": "请加 --overwrite，或用 --to 指定其他目录。",
    "Nothing to change was given.": "没有给出要修改的内容。",
    "There is no queue “{path}”.": "没有队列“{path}”。",
    "Give --guarantee, --limit or --weight.": "请给出 --guarantee、--limit 或 --weight。",
    "One of the numbers given is infinite or not a number: give a finite one.": (
        "给出的数中有无穷大或非数：请给有限的数。"
    ),
    "“{text}” is not a number of accelerators.": "“{text}”不是有效的加速卡数量。",
    "See what there is with `gangline queues`.": "用 `gangline queues` 查看现有队列。",
    "Give a number, or `none`.": "请给出数字，或 `none`。",
    "The job is not valid.": "作业无效。",
    "“{url}” is not a portal's address.": "“{url}”不是门户地址。",
    "Give it as http://host:port or https://host.": "请写成 http://host:port 或 https://host。",
    "The profile file {path} cannot be read ({why}).": "无法读取配置文件 {path}（{why}）。",
    "Delete it and run `gangline login` again.": "请删除它，再运行 `gangline login`。",
    "{message} Trying again...": "{message} 正在重试……",
    "code: there is no folder or archive {path}.": "code：目录或归档 {path} 不存在。",
    "No job was given.": "没有给出作业。",
    "The job file {file} does not hold keys and values.": "作业文件 {file} 的内容不是键和值。",
    "“{pair}” is not key=value.": "“{pair}”不是 key=value 的形式。",
    "Give a file (`-f job.yaml`; `gangline init` writes one) or pairs (`name=a run=./x.sh`).": (
        "请给出文件（`-f job.yaml`，可用 `gangline init` 生成）或键值对（`name=a run=./x.sh`）。"
    ),
    "The job file {file} cannot be read: {error}.": "无法读取作业文件 {file}：{error}。",
    "The job file {file} is not valid YAML: {error}": "作业文件 {file} 不是有效的 YAML：{error}",
    "`gangline init` writes one.": "可用 `gangline init` 生成。",
    "For example: workers=4 resources.accelerators=1": "例如：workers=4 resources.accelerators=1",
    "“{path}” cannot be set: “{parent}” is a plain value already.": (
        "无法设置“{path}”：“{parent}”已经是一个普通值。"
    ),
    "“{name}” fits {count} jobs; nothing was done.": "“{name}”对应 {count} 个作业，没有执行任何操作。",
    "No job is named “{name}” or has an id that begins so.": "没有名为“{name}”或编号以此开头的作业。",
    "Give the id of the one you mean.": "请给出所指作业的编号。",
    "A defect of this program: {error}": "本程序的缺陷：{error}",
    "Run it again with GANGLINE_DEBUG=1 and report what it prints.": (
        "请加 GANGLINE_DEBUG=1 重新运行，并报告其输出。"
    ),
}

RESULTS = {
    "none": "无",
    "never": "从不",
    "yes": "是",
    "It waits for nothing.": "它没有在等待。",
    "wrote {path}": "已写入 {path}",
    "Set `queue` in {path} to one of `gangline queues`, then:": (
        "请把 {path} 中的 `queue` 改为 `gangline queues` 列出的队列，然后运行："
    ),
    "Logged in to {url} as {name}. The token is kept in {path}.": (
        "已以 {name} 登录 {url}。令牌保存在 {path}。"
    ),
    "API token: ": "API 令牌：",
    "Note: GANGLINE_URL or GANGLINE_TOKEN is set and goes before this file.": (
        "注意：已设置 GANGLINE_URL 或 GANGLINE_TOKEN，它们优先于此文件。"
    ),
    "Username: ": "用户名：",
    "Password: ": "密码：",
    "{state}, cordoned": "{state}，已停止调度",
    "{node} is cordoned.": "{node} 已停止调度。",
    "{node} is in use again.": "{node} 已恢复使用。",
    "{node} is cordoned; {number} jobs leave it.": "{node} 已停止调度；{number} 个作业正在离开。",
    "Nothing to suppose was given.": "没有给出任何假设。",
    "Give a job, or --without-node.": "请给出作业，或 --without-node。",
    "Nothing would change.": "不会有任何变化。",
    "the job supposed": "假设的作业",
    "another team's job": "其他团队的作业",
    "would have to leave": "将须让出",
    "would lose a node": "将失去节点",
    "would start": "将启动",
    "would wait": "将等待",
    "exit code {code}": "退出码 {code}",
    "Next:": "下一步：",
    "Why does it wait?": "为什么在等待？",
    "Revoked.": "已吊销。",
    "Valid. It would start at once.": "有效。会立即开始。",
    "Valid. It would start about {time}.": "有效。预计 {time} 左右开始。",
    "Valid. It would wait; its start cannot be predicted.": "有效。需要等待，开始时间无法预测。",
    "not reachable": "无法连接",
    "attempt {number}": "第 {number} 次运行",
    "the log of attempt {number} was never closed: its node may be lost": (
        "第 {number} 次运行的日志没有正常结束：其节点可能已丢失"
    ),
    "Detached; the job goes on. Look again with `gangline logs -f {id}`.": (
        "已退出查看，作业继续运行。再次查看：`gangline logs -f {id}`。"
    ),
    "{path}: {used} used, guarantee {guarantee}, limit {limit}": (
        "{path}：已用 {used}，保障 {guarantee}，上限 {limit}"
    ),
    "{node} {devices} (rank {rank})": "{node} {devices}（rank {rank}）",
    "loss {first} to {last}": "损失从 {first} 到 {last}",
    "waited {time}": "等待 {time}",
    "ran {time}": "运行 {time}",
    "{number} CPUs": "{number} 个 CPU",
    "{name} ({state}, submitted {at})": "{name}（{state}，提交于 {at}）",
}

TITLES = {
    "ID": "编号",
    "STEP": "步数",
    "STATE": "状态",
    "SIZE": "大小",
    "SAVED": "保存时间",
    "PROBLEM": "问题",
    "State": "状态",
    "Why": "原因",
    "What helps": "解决办法",
    "When": "何时",
    "Jobs ahead": "前面的作业",
    "Queue": "队列",
    "NAME": "名称",
    "TYPE": "类型",
    "USED": "已用",
    "ZONE": "可用区",
    "RACK": "机架",
    "JOBS": "作业",
    "WHAT": "结果",
    "DETAILS": "说明",
    "PATH": "路径",
    "SHA-256": "SHA-256",
    "ATTEMPT": "运行",
    "NODES": "节点",
    "STARTED": "开始",
    "ENDED": "结束",
    "FROM STEP": "起始步",
    "END": "结局",
    "TIME": "时间",
    "EVENT": "事件",
    "BEGINS WITH": "开头",
    "CREATED": "创建时间",
    "LAST USED": "最近使用",
    "EXPIRES": "到期",
    "Client": "客户端",
    "Portal": "门户",
    "User": "用户",
    "Platform admin": "平台管理员",
    "Teams": "团队",
    "JOB": "作业",
    "STEPS": "步数",
    "LOSS": "损失",
    "WAITED": "等待",
    "ATTEMPTS": "运行次数",
    "MFU": "MFU",
    "RAN": "运行时长",
    "QUEUE": "队列",
    "OWNER": "所有者",
    "PRIORITY": "优先级",
    "SHAPE": "规模",
    "AGE": "已过",
    "REMARK": "说明",
    "Job": "作业",
    "Name": "名称",
    "Remark": "说明",
    "Owner": "所有者",
    "Priority": "优先级",
    "Workers": "工作进程",
    "Step": "步数",
    "Attempts": "运行次数",
    "Placed on": "所在位置",
    "Submitted": "提交时间",
    "Started": "开始时间",
    "Ended": "结束时间",
    "Result": "结果",
    "TEAM": "团队",
    "GUARANTEE": "保障",
    "LIMIT": "上限",
    "WEIGHT": "权重",
    "BORROWED": "借用",
    "RUNNING": "运行中",
    "PENDING": "等待中",
}

HELP = {
    (
        "Submit training jobs to a Gangline platform and watch them. Exit codes: 0 done, 1 the job failed, "
        "2 bad usage, 3 refused by the portal, 4 portal not reachable, 130 detached by Ctrl-C."
    ): (
        "向 Gangline 平台提交训练作业并查看进展。退出码：0 完成，1 作业失败，2 用法错误，3 被门户拒绝，"
        "4 无法连接门户，130 用 Ctrl-C 退出查看。"
    ),
    "Seconds to keep trying while the portal cannot be reached.": "无法连接门户时持续重试的秒数。",
    "Install completion for the current shell.": "为当前 shell 安装自动补全。",
    "Show completion for the current shell, to copy it or customize the installation.": (
        "显示当前 shell 的自动补全脚本，供复制或自行安装。"
    ),
    'Submit a job. For example: gangline submit name=first queue=research run="python train.py"': (
        '提交作业。例如：gangline submit name=first queue=research run="python train.py"'
    ),
    "Jobs": "作业",
    "Values laid over those of the file.": "覆盖文件中的值。",
    "A job file (YAML or JSON); `-` is stdin.": "作业文件（YAML 或 JSON）；`-` 表示标准输入。",
    "Show the progress; end as the job ends.": "显示进度，随作业结束而结束。",
    "Check the job and predict its start; submit nothing.": "检查作业并预测开始时间，不提交。",
    "Submission key: the same key and job is one job, however often.": (
        "提交键：同一键和同一作业无论提交多少次都只有一个作业。"
    ),
    "How to print the result.": "结果的输出形式。",
    "Check a job without submitting it: every mistake at once, and the predicted start.": (
        "只检查作业而不提交：一次列出所有错误，并预测开始时间。"
    ),
    "Write a job file and a small training script that saves and resumes. Never overwrites a file.": (
        "写出一个作业文件和一个会保存、会续训的小训练脚本。从不覆盖文件。"
    ),
    "Where to write the files.": "写入文件的目录。",
    "List jobs: those that wait or run, or all of them with -a.": "列出等待和运行中的作业；加 -a 列出全部。",
    "Ended jobs too.": "包括已结束的作业。",
    "Keep the list up to date until Ctrl-C.": "持续刷新列表，直到 Ctrl-C。",
    "Only jobs in this state (may be repeated).": "只列出处于此状态的作业（可重复）。",
    "Only jobs of this queue.": "只列出此队列的作业。",
    "Only jobs of this team.": "只列出此团队的作业。",
    "Only jobs of this user.": "只列出此用户的作业。",
    "Only jobs whose name holds this text.": "只列出名称包含此文字的作业。",
    "Only your own jobs.": "只列出自己的作业。",
    "At most so many, newest first.": "最多列出多少个，最新的在前。",
    "Show a job: its state, where it runs, its attempts and its history.": (
        "查看作业：状态、运行位置、各次运行和历史。"
    ),
    "The job's id, the beginning of its id, or its name.": "作业的编号、编号的开头，或名称。",
    "Tell why a job waits, in numbers, and what would help.": "用数字说明作业为什么等待，以及怎样解决。",
    "Print the log of a job's worker. With -f no line is lost or repeated; Ctrl-C leaves the job alone.": (
        "打印作业工作进程的日志。加 -f 时不丢行也不重复；Ctrl-C 不影响作业。"
    ),
    "Go on until the job has ended.": "持续输出，直到作业结束。",
    "A worker's rank, or `all` (each line then begins with its rank).": (
        "工作进程的 rank，或 `all`（每行以 rank 开头）。"
    ),
    "By default the newest; -f goes on with later ones.": "默认为最新一次；-f 会接着输出后面的各次。",
    "Only the last so many lines of what is there.": "只输出已有内容的最后若干行。",
    "Stop a job for good. It may save and leave within its grace period.": (
        "彻底停止作业。它可以在宽限时间内保存并退出。"
    ),
    "Change jobs": "改变作业",
    "Ids, beginnings of ids, or names of jobs.": "作业的编号、编号的开头，或名称。",
    "Take a job off its devices (after saving) or out of the queue, until it is released.": (
        "让作业（保存后）让出设备或离开队列，直到被放行。"
    ),
    "Let a held job wait in its queue again.": "让被搁置的作业重新排队。",
    "Submit a new job with the same document and code.": "用同样的内容和代码提交一个新作业。",
    "Change a job's priority.": "修改作业的优先级。",
    "low, normal, high, urgent, or 0 to 1000.": "low、normal、high、urgent，或 0 到 1000。",
    "List queues with guarantee, limit, and what is used, borrowed and waited for.": (
        "列出队列的保障、上限，以及已用、借用和等待的数量。"
    ),
    "Teams and cluster": "团队与集群",
    "Log in to a portal. Asks for the password; in scripts it is read from standard input.": (
        "登录门户。会询问密码；在脚本中从标准输入读取。"
    ),
    "Access": "访问",
    "The portal's address, e.g. http://127.0.0.1:8000.": "门户地址，例如 http://127.0.0.1:8000。",
    "Asked for if left out.": "未给出时会询问。",
    "Use this API token instead of a password; `-` reads it from standard input.": (
        "用此 API 令牌代替密码；`-` 表示从标准输入读取。"
    ),
    "Show who you are, your teams and your roles in them.": "显示您的身份、所属团队和角色。",
    "Run the platform here: database, broker, portal, workers and a small Ray cluster. Ctrl-C stops it.": (
        "在本机运行平台：数据库、消息队列、门户、后台进程和一个小型 Ray 集群。Ctrl-C 停止。"
    ),
    "Platform": "平台",
    "Where all its state lives.": "全部状态所在的目录。",
    "The portal's port.": "门户的端口。",
    "`demo` fills it with two teams, queues and users.": "`demo` 会建立两个团队及其队列和用户。",
    (
        "Start a platform on this machine and watch three jobs share it: borrow, give back, preempt, resume. "
        "It stays up until Ctrl-C; with DEMO_EXIT=1 it stops by itself, with exit code 0 only if all went "
        "right."
    ): (
        "在本机启动平台，观看三个作业共享它：借用、归还、抢占、续训。"
        "平台一直运行到 Ctrl-C；设 DEMO_EXIT=1 时自行停止，仅当一切正常时退出码为 0。"
    ),
    "Show the version of this client and of the portal.": "显示客户端和门户的版本。",
    "Files that jobs left in their output folder.": "作业留在输出目录中的文件。",
    "List the files that a job left.": "列出作业留下的文件。",
    "Download files that a job left, under their own names.": "下载作业留下的文件，保持原名。",
    "By default every file.": "默认为全部文件。",
    "The folder to write to.": "写入的目录。",
    "Replace files that are there already.": "覆盖已存在的文件。",
    "Checkpoints of jobs.": "作业的检查点。",
    "List a job's checkpoints. Another job starts from one with `checkpoint: {from: ID}`.": (
        "列出作业的检查点。其他作业可用 `checkpoint: {from: ID}` 从某个检查点开始。"
    ),
    "Guarantees and limits of queues.": "队列的保障和上限。",
    "Show one queue with the queues below it.": "显示一个队列及其下级队列。",
    "The queue's path, e.g. research/nlp.": "队列路径，例如 research/nlp。",
    "Change a queue's quota. Below present use nothing is stopped, and nothing admitted until use falls.": (
        "修改队列配额。低于当前用量时不会停止任何作业，但在用量下降前不再接纳新作业。"
    ),
    "Accelerators that it gets back when it asks.": "需要时能够收回的加速卡数。",
    "Accelerators that it never exceeds; `none` for no limit.": "永不超过的加速卡数；`none` 表示没有上限。",
    "Its share of what nobody is guaranteed.": "分享未被保障的资源时的权重。",
    "The cluster's machines; without a command of its own, their list.": (
        "集群中的机器；不带子命令时列出全部。"
    ),
    "List the nodes, what runs on them and what is wrong with them.": "列出节点、其上的作业以及存在的问题。",
    "Start nothing new on a node. What runs there goes on.": "不再在节点上启动新作业，已运行的继续。",
    "The node's name.": "节点名称。",
    "Why, for those who look at the node.": "原因，供查看节点的人了解。",
    "Use a cordoned node again.": "恢复使用节点。",
    "Cordon a node and have its jobs save, leave and go on elsewhere.": (
        "停止在节点上调度，其上的作业保存、退出并在别处继续。"
    ),
    "Accelerators that each user may hold at once; `none` for no limit.": (
        "每个用户可同时占用的加速卡数；`none` 表示没有上限。"
    ),
    "Of one type, as part of the guarantee: h100=4. Replaces all.": (
        "某一型号的保障，是总保障的一部分：h100=4。会替换全部。"
    ),
    "A limit of one type beside the whole: h100=8. Replaces all.": (
        "总上限之外某一型号的上限：h100=8。会替换全部。"
    ),
    "Suppose that this node is gone.": "假设此节点已不在。",
    "Suppose that this node takes nothing new.": "假设此节点不再接纳新作业。",
    "Tell what would start, wait or have to leave; nothing is changed.": (
        "告诉哪些作业会启动、等待或须让出；不作任何改动。"
    ),
    "Your API tokens.": "您的 API 令牌。",
    "List your tokens; their secrets are not kept anywhere.": "列出您的令牌；密文不会保存在任何地方。",
    "Make a token and print its secret, which is shown only this once.": (
        "创建令牌并打印其密文，密文只显示这一次。"
    ),
    "What it is for.": "用途。",
    "When it ends, e.g. 2027-01-31T00:00:00Z.": "到期时间，例如 2027-01-31T00:00:00Z。",
    "End a token at once.": "立即吊销令牌。",
    "The token's id.": "令牌编号。",
}

DEMO = {
    "Starting the platform: PostgreSQL, Redis, portal, Celery, Ray with 4 nodes of 4 slots...": (
        "正在启动平台：PostgreSQL、Redis、门户、Celery，以及 4 个节点、每节点 4 个槽位的 Ray……"
    ),
    "Stopping the platform...": "正在停止平台……",
    "Ready after {time}: {url}": "{time} 后就绪：{url}",
    "  log in as {name}, password {secret}, queue {queue}": "  用户 {name}，密码 {secret}，队列 {queue}",
    "  log in as {name}, password {secret}, platform admin": "  用户 {name}，密码 {secret}，平台管理员",
    "The portal stays up at {url} until you press Ctrl-C.": "门户 {url} 会一直运行，直到您按下 Ctrl-C。",
    "submitted {name} to queue {queue}: {id}": "已把 {name} 提交到队列 {queue}：{id}",
    "The demo did not end within {seconds:.0f} seconds.": "演示没有在 {seconds:.0f} 秒内结束。",
    "queue {queue} now asks for what it is guaranteed": "队列 {queue} 现在要求得到其保障量",
    "the slots are free again: the first job resumes where it left": "槽位已空出：第一个作业从离开处续训",
    "an urgent job goes first in queue {queue}": "队列 {queue} 中的紧急作业优先",
    "{name} succeeded": "{name} 成功",
    "{name} first ran on 4 nodes and 16 slots": "{name} 最初在 4 个节点、16 个槽位上运行",
    "{nodes} nodes, {slots} slots": "{nodes} 个节点，{slots} 个槽位",
    "{name} was told to give back what it had borrowed": "{name} 被要求归还借用的槽位",
    "{name} was told to leave for the urgent job": "{name} 被要求为紧急作业让位",
    "{count} stop orders ({cause})": "{count} 次停止指令（{cause}）",
    "{name} ran while {other} was away": "{name} 在 {other} 让位期间运行",
    "{a} and {b} attempts": "运行次数为 {a} 和 {b}",
    "{name} saved on leaving and resumed from there": "{name} 离开时保存，并从那里续训",
    "left at {left}, resumed at {resumed}": "离开于第 {left} 步，续训于第 {resumed} 步",
    "{name} did no step twice": "{name} 没有重复任何一步",
    "steps in the wrong attempt: {steps}": "不在其运行中的步：{steps}",
    "{name} reported every step once": "{name} 每一步都报告了一次",
    "{steps} of {total}": "{steps}，共 {total}",
    "the loss of {name} fell": "{name} 的损失下降",
    "no loss": "没有损失值",
    "{first:.4f} to {last:.4f}": "{first:.4f} 到 {last:.4f}",
    "The platform was not ready within {seconds:.0f} seconds.": "平台没有在 {seconds:.0f} 秒内就绪。",
    "Look into {path}.": "请查看 {path}。",
    "The platform ended with exit code {code}. Its last lines:": "平台以退出码 {code} 结束。最后几行：",
    "There is no free port on 127.0.0.1.": "127.0.0.1 上没有空闲端口。",
}

TEXTS = {**ERRORS, **RESULTS, **TITLES, **HELP, **DEMO}
