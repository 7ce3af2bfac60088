import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { newDirectory } from '../adapters/embedded/store.ts'
import { draws } from '../draws.ts'
import {
  type Acked,
  type Call,
  CHILD,
  canTrace,
  has,
  inspect,
  leaveOut,
  rounds,
  run,
  standsStill,
  startChild,
  startUntil,
} from './rig.ts'

/**
 * Simulates a power loss: the store is on an ext4 file system in an image file; the writer is frozen and the image
 * copied. The copy lacks all unsynced data, which a kill alone would keep. It is frozen at the n-th system call, or
 * after n acknowledged events without strace. Returns the mounted copy and the acknowledged events.
 */
const losePower = async (
  t: Test,
  how: string,
  n: number,
  call?: Call,
): Promise<{ directory: string; acked: Acked }> => {
  const base = await newDirectory(t)
  const [image, copy, disk, restored] = ['disk.img', 'copy.img', 'disk', 'restored'].map((name) =>
    join(base, name),
  ) as [string, string, string, string]
  await run('truncate', ['-s', '64M', image])
  await run('mkfs.ext4', ['-q', '-F', image])
  await mkdir(disk)
  await mkdir(restored)
  await run('mount', ['-o', 'loop', image, disk])
  try {
    const { until, kill, acked, count, pid } = call
      ? startUntil({ call, n, signal: 'STOP' }, [disk, how])
      : startChild([CHILD, disk, how])
    if (call) await until(() => count('pid') > 0, 'the writer to begin')
    else {
      await until(() => count('ack') >= n, `acknowledgement ${n}`)
      process.kill(pid(), 'SIGSTOP')
    }
    await standsStill(pid())
    await run('cp', [image, copy])
    await kill()
    await run('mount', ['-o', 'loop', copy, restored])
    t.teardown(() => run('umount', ['-l', restored]))
    return { directory: restored, acked: acked() }
  } finally {
    await run('umount', [disk])
  }
}

/** Moments at which a writer has acknowledged more than 20 events. */
const moments = [
  ['fsync,fdatasync', 100, 300],
  ['pwrite64', 1_500, 3_000],
] as const

const impossible = async (): Promise<string | undefined> => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'mounting needs root on Linux'
  for (const command of ['mkfs.ext4', 'mount', 'losetup']) if (!(await has(command))) return `no ${command} here`
  return run('losetup', ['-f']).then(
    () => undefined,
    () => 'no loop device is free',
  )
}

void t.test('the service survives a loss of power', async (t) => {
  const reason = await impossible()
  if (reason !== undefined) return leaveOut(t, reason)
  await t.test('a loss of power loses no acknowledged event', async (t) => {
    const [traced, draw] = [await canTrace(), draws(t)]
    for (let round = 1; round <= rounds(4); round++) {
      const [call, from, below] = moments[round % 2]!
      const n = draw(from, below)
      const { directory, acked } = await losePower(t, String([64, 1, 8][round % 3]), n, traced ? call : undefined)
      t.ok(acked.size > 20, traced ? `at its ${call} ${n}` : `at acknowledgement ${n}`)
      const { lost, torn, differing, events } = await inspect(directory, acked)
      t.same(
        { lost, torn, differing },
        { lost: 0, torn: 0, differing: 0 },
        `round ${round}: ${acked.size} acknowledged, ${events} found`,
      )
    }
  })
  await t.test('control experiment: without syncs to the disk acknowledged events are lost', async (t) => {
    const { directory, acked } = await losePower(t, 'unsynced', draws(t)(100, 1_000))
    const { lost } = await inspect(directory, acked)
    t.ok(lost > 0, `${lost} of ${acked.size} lost`)
  })
})
