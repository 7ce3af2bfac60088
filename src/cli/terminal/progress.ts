import { Presets, SingleBar } from 'cli-progress'
import type { Clock } from '../../base/clock.ts'
import { escapeControl } from '../../base/control-characters.ts'
import type { Progress } from '../../base/progress.ts'
import type { Terminal } from './terminal.ts'

const EVERY_MS = 10_000

const rest = (seconds: number): string =>
  Number.isFinite(seconds) ? `${Math.ceil(seconds)} s left` : 'time left unknown'

type Look = {
  readonly progress: boolean
  readonly quiet?: boolean | undefined
  readonly unit?: string
}

/**
 * Shows progress on standard error: a bar on a terminal, otherwise a line every 10 s; nothing with `quiet`. Work that
 * ends sooner shows no line.
 */
export const progressBar = (
  { streams: { stderr }, info }: Terminal,
  { monotonic }: Clock,
  { progress: wanted, quiet = false, unit = 'events' }: Look,
) => {
  const terminal = stderr.isTTY === true && wanted && !quiet
  let current: { name: string; from: number; done: number } | undefined
  let bar: SingleBar | undefined
  let lastDraw = monotonic()
  let silent = true
  const stop = () => {
    bar?.stop()
    bar = undefined
  }
  const begin = ({ name, done, total }: Progress) => {
    stop()
    current = { name, from: monotonic(), done }
    if (!terminal) return
    bar = new SingleBar(
      {
        format: `${escapeControl(name)} {bar} {value}/{total} {rate} ${unit}/s, {left}`,
        stream: stderr,
        hideCursor: true,
      },
      Presets.shades_classic,
    )
    bar.start(total, done, { rate: 0, left: rest(Infinity) })
  }
  return {
    update: (progress: Progress): void => {
      const { name, done, total } = progress
      if (current?.name !== name) begin(progress)
      const { from = 0, done: first = 0 } = current ?? {}
      const rate = (done - first) / Math.max((monotonic() - from) / 1000, 1e-3)
      const facts = { rate: Math.round(rate), left: rest((total - done) / rate) }
      bar?.setTotal(total)
      bar?.update(done, facts)
      if (terminal || quiet || (monotonic() - lastDraw < EVERY_MS && (done < total || silent))) return
      lastDraw = monotonic()
      silent = false
      info(`${name}: ${done}/${total} ${unit}, ${facts.rate} ${unit}/s${done < total ? `, ${facts.left}` : ''}`)
    },
    end: stop,
  }
}
