/** The numbers of assertions that a run of tap counted. */
export type Counts = { readonly pass: number; readonly fail: number; readonly skip: number }

export type FileTime = { readonly file: string; readonly seconds: number }

/** The numbers of assertions in the last summary line of tap; undefined when tap did not get that far. */
export const counts = (output: string): Counts | undefined => {
  const summary = [...output.matchAll(/^# \{ total: \d+(.*)\}$/gm)].at(-1)?.[1]
  if (summary === undefined) return undefined
  const count = (name: string) => Number(new RegExp(`\\b${name}: (\\d+)`).exec(summary)?.[1] ?? 0)
  return { pass: count('pass'), fail: count('fail'), skip: count('skip') }
}

/** Duration of each test file, slowest first. */
export const fileTimes = (output: string): readonly FileTime[] =>
  [...output.matchAll(/^(?:not )?ok \d+ - (\S+\.test\.js)\b.*# time=([\d.]+)(ms|s|m)/gm)]
    .map(([, file = '', time, unit]) => ({ file, seconds: Number(time) * { ms: 0.001, s: 1, m: 60 }[unit as 'ms'] }))
    .sort((a, b) => b.seconds - a.seconds)

/** Skipped tests by reason, most frequent reason first. */
export const skipReasons = (output: string): readonly (readonly [reason: string, tests: number])[] => {
  const byReason = new Map<string, number>()
  for (const [, reason = ''] of output.matchAll(/^ *ok .* # SKIP ?(.*)$/gm))
    byReason.set(reason, (byReason.get(reason) ?? 0) + 1)
  return [...byReason].sort(([, a], [, b]) => b - a)
}

export type Failure = { readonly file: string; readonly lines: readonly string[] }

const MAX_DIAGNOSTIC_LINES = 40

/** The failed assertions in the output, each with its test file and at most 40 lines of diagnostics. */
export const failures = (output: string): readonly Failure[] => {
  const found: { file: string; lines: string[] }[] = []
  let file = ''
  let inDiagnostics = false
  for (const line of output.split('\n')) {
    file = /^# Subtest: (\S+)/.exec(line)?.[1] ?? file
    const last = found.at(-1)
    if (/^ *not ok (?!.*# (?:SKIP|TODO))/.test(line)) {
      found.push({ file, lines: [line.trim()] })
      inDiagnostics = true
    } else if (last && inDiagnostics && (last.lines.length > 1 || /^ *---$/.test(line))) {
      // tap names the file of a timeout only here.
      last.file = /^ *expired: (\S+\.test\.js)$/.exec(line)?.[1] ?? last.file
      if (last.lines.length <= MAX_DIAGNOSTIC_LINES) last.lines.push(line)
      inDiagnostics = !/^ *\.\.\.$/.test(line)
    } else inDiagnostics = false
  }
  return found
}
