import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { newDirectory } from '../adapters/embedded/store.ts'
import { rollcall } from '../cli/service.ts'
import { draws } from '../draws.ts'
import { startService } from '../start.ts'
import { canTrace, leaveOut, NO_STRACE, rounds, startChild } from './rig.ts'

const main = resolve(import.meta.dirname, '../../src/main.js')

/** System calls that change files. */
const CALLS = 'mkdir,openat,write,pwrite64,fsync,fdatasync,ftruncate,rename,unlink,rmdir'
const KEYS = ['subjects.sqlite', 'keys', 'signing-key.pem']
const FILES = ['events.sqlite', 'events.sqlite-wal', 'ledger.sqlite', 'ledger.sqlite-wal', ...KEYS]
const OF_BACKUP = ['', ...FILES, 'backup.json.new', 'backup.json']
const OF_RESTORE = [...OF_BACKUP, 'restoring', ...FILES.map((name) => `restoring/${name}`)]

/** The n-th system call of a name on a path in a directory. */
type Step = { readonly path: string; readonly call: string; readonly n: number }

/** Runs the command line under strace. strace counts the calls of each thread, so one thread makes those of Node. */
const traced = (options: readonly string[], args: readonly string[]) =>
  startChild(['UV_THREADPOOL_SIZE=1', 'strace', '-f', '-qq', ...options, process.execPath, main, ...args], 'env').closed

const only = (directory: string, paths: readonly string[]) =>
  paths.flatMap((path) => ['-P', join(directory, path).replace(/\/$/, '')])

/** All steps of a command that writes to these paths in a directory. */
const stepsOf = async (
  directory: string,
  paths: readonly string[],
  args: readonly string[],
): Promise<readonly Step[]> => {
  const log = `${directory}.trace`
  await traced(['-o', log, '-y', ...only(directory, paths), '-e', `trace=${CALLS}`], args)
  const counts = new Map<string, number>()
  const longest = paths.toSorted((a, b) => b.length - a.length)
  return (await readFile(log, 'utf8')).split('\n').flatMap((line) => {
    const call = /^\d+ +(\w+)\(/.exec(line)?.[1]
    const path = longest.find((each) => line.includes(join(directory, each).replace(/\/$/, '')))
    if (call === undefined || path === undefined) return []
    const n = (counts.get(`${call} ${path}`) ?? 0) + 1
    counts.set(`${call} ${path}`, n)
    return [{ path, call, n }]
  })
}

/** Runs the command line until a step, at which it is killed. */
const killedAt = async ({ path, call, n }: Step, directory: string, args: readonly string[]): Promise<void> => {
  const kill = ['-e', `trace=${call}`, '-e', `inject=${call}:signal=KILL:when=${n}`]
  await traced(['-o', '/dev/null', ...only(directory, [path]), ...kill], args)
}

/** The steps of this run: all, or some that are drawn. */
const chosen = <T>(t: Test, steps: readonly T[], usual: number): readonly T[] => {
  const draw = draws(t)
  t.comment(`${steps.length} steps`)
  const count = rounds(usual)
  return count >= steps.length ? steps : Array.from({ length: count }, () => steps[draw(0, steps.length)]!)
}

/** Data directory of a stopped service with a ledger, and the number of its events. */
const stopped = async (t: Test) => {
  const service = await startService(t, { 'storage.type': 'embedded' })
  await service.request('POST', '/api/v1/namespaces/default/flags', { key: 'f', name: 'f', type: 'BOOLEAN_FLAG_TYPE' })
  await service.request('POST', '/audit/v1/ledger/checkpoint', {})
  await service.close()
  return { data: join(service.directory, 'data'), directory: service.directory }
}

const stateOf = async (data: string) => {
  const { exit, out } = await rollcall(['ledger', 'status', '--data', data, '-o', 'json'])
  // 3: the ledger signs nothing at present.
  return exit === 0 || exit === 3 ? (JSON.parse(out) as { readonly state: string; readonly size: number }) : undefined
}
const namesIn = (directory: string): Promise<readonly string[]> => readdir(directory).catch(() => [])

await t.test('a kill at any system call of a backup leaves a whole backup, or one that is refused', async (t) => {
  if (!(await canTrace())) return leaveOut(t, NO_STRACE)
  const { data, directory: beside } = await stopped(t)
  const whole = join(beside, 'whole')
  const steps = await stepsOf(whole, OF_BACKUP, ['backup', whole, '--data', data, '--with-keys'])
  for (const step of chosen(t, steps, 4)) {
    const directory = await newDirectory(t)
    const [backup, into] = [join(directory, 'backup'), join(directory, 'restored')]
    await killedAt(step, backup, ['backup', backup, '--data', data, '--with-keys'])
    const when = `killed at ${step.call} ${step.n} of ${step.path}`
    const names = await namesIn(backup)
    const { exit, err } = await rollcall(['restore', backup, '--into', into])
    const expected = names.includes('backup.json') ? 0 : names.length > 0 ? 3 : 4
    t.equal(exit, expected, `${when}, with ${names.join(' ')}: ${err}`)
    const again = await rollcall(['backup', backup, '--data', data, '--with-keys'])
    t.equal(again.exit, names.length === 0 ? 0 : 2, `${when}: a second backup`)
  }
})

await t.test('a kill at any system call of a restore leaves nothing that a service takes for whole', async (t) => {
  if (!(await canTrace())) return leaveOut(t, NO_STRACE)
  const { data, directory } = await stopped(t)
  const backup = join(directory, 'backup')
  t.equal((await rollcall(['backup', backup, '--data', data, '--with-keys'])).exit, 0)
  const { events, checkpoint } = JSON.parse(await readFile(join(backup, 'backup.json'), 'utf8')) as {
    readonly events: number
    readonly checkpoint: string
  }
  const file = join(directory, 'checkpoint')
  await writeFile(file, checkpoint)
  const decisions = [
    { args: ['--accept-rollback', '--reason', 'a drill'], size: events + 1, state: 'ok' },
    { args: ['--checkpoint', file], size: events, state: 'ok' },
    { args: [], size: events, state: 'suspended' },
  ]
  const steps: { readonly step: Step; readonly decision: (typeof decisions)[number] }[] = []
  for (const [n, decision] of decisions.entries()) {
    const whole = join(directory, `whole-${n}`)
    for (const step of await stepsOf(whole, OF_RESTORE, ['restore', backup, '--into', whole, ...decision.args]))
      steps.push({ step, decision })
  }
  for (const { step, decision } of chosen(t, steps, 5)) {
    const { args, size, state } = decision
    const target = await newDirectory(t)
    const into = join(target, 'data')
    const restore = ['restore', backup, '--into', into, ...args]
    await killedAt(step, into, restore)
    const when = `killed at ${step.call} ${step.n} of ${step.path}, ${args[0] ?? 'undecided'}`
    // The state is that of an instance that starts, which may write files.
    const started = join(target, 'started')
    await cp(into, started, { recursive: true }).catch(() => undefined)
    const found = await stateOf(started)
    if (found) t.match(found, { size }, `${when}: a service that starts has each event`)

    const again = await rollcall(restore)
    if (again.exit !== 0) {
      t.match(again, { exit: 2, err: /has an interrupted restore|is not empty/ }, when)
      if (again.err.includes('is not empty')) t.match(found, { size, state }, `${when}: the restore was complete`)
      await rm(into, { recursive: true })
      t.match(await rollcall(restore), { exit: 0 }, `${when}: the restore is repeated`)
    }
    t.match(await stateOf(into), { size, state }, `${when}: restored`)
    t.notOk((await namesIn(into)).includes('restoring'), when)
  }
})
