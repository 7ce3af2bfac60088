import { EXIT } from '../../base/failure.ts'
import { base64Of } from '../platform.ts'
import type { Retained } from './evidence.ts'
import type { Verdict } from './export-check.ts'
import { findingLine } from './findings.ts'

/** Output of a check: texts of the program, texts of other authors, and messages for people. */
export type Output = Readonly<Record<'print' | 'printForeign' | 'info', (text: string) => void>>

/** Prints a verdict and returns its exit code. `isByManifest`: the keys are those of the manifest, unless others were given. */
export const reportVerdict = (
  { found, events, size, root, cosigned }: Verdict,
  { keys }: Pick<Retained, 'keys'>,
  isByManifest: boolean,
  form: 'text' | 'json',
  { print, printForeign, info }: Output,
): number => {
  const isVerified = found.count() === 0
  if (keys === undefined && isByManifest && isVerified)
    info(
      'The signatures were verified with the key in the manifest. Set --vkey KEY to verify them with a key that you trust.',
    )
  for (const { type, name } of keys ?? [])
    if (type === 'cosignature' && !cosigned.some((one) => one.name === name))
      info(`No checkpoint has a signature of ${name}.`)
  const rootText = root ? base64Of(root) : ''
  const lines = found.kept.map(findingLine)
  if (form === 'json')
    print(
      `${JSON.stringify({ verified: isVerified, events, size, root: rootText, cosigned, findings: found.kept.map((one, n) => ({ ...one, line: lines[n] })), found: found.count() })}\n`,
    )
  else {
    if (lines.length > 0) printForeign(`${lines.join('\n')}\n`)
    if (found.count() > lines.length) print(`${found.count() - lines.length} more\n`)
    for (const { name, size, time } of cosigned) printForeign(`${name} signed size ${size} at ${time}\n`)
    if (isVerified) print(`verified ${events} events, size ${size}, root ${rootText}\n`)
    else info('Not verified.')
  }
  return isVerified ? EXIT.ok : EXIT.check
}
