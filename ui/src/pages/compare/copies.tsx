import { useState } from 'react'
import { type Failure, isFailure } from '../../api/failure.ts'
import { Button } from '../../parts/button.tsx'
import { useCopy } from '../../parts/copy.tsx'
import { FailureAlert } from '../../parts/feedback/alert.tsx'
import { compare as words } from '../../words/compare.ts'
import type { PatchOp } from './json-patch.ts'

/** Buttons that copy the address of a comparison, and its differences as a JSON Patch. */
export const Copies = ({
  patch,
  partial,
}: {
  /** Makes the patch; undefined without a difference. */
  readonly patch: (() => Promise<readonly PatchOp[]>) | undefined
  /** Whether there are further pages of differences. */
  readonly partial: boolean
}) => {
  const { copy, told } = useCopy()
  const [reading, setReading] = useState(false)
  const [failure, setFailure] = useState<Failure | undefined>()
  const copyPatch = async (make: () => Promise<readonly PatchOp[]>) => {
    setReading(true)
    setFailure(undefined)
    try {
      copy(JSON.stringify(await make(), null, 2), words.patch)
    } catch (error) {
      if (!isFailure(error)) throw error
      setFailure(error)
    } finally {
      setReading(false)
    }
  }
  return (
    <span className="bar copies">
      <Button onClick={() => copy(window.location.href, words.link)}>{words.copyLink}</Button>
      {patch && (
        <Button busy={reading ? words.patching : undefined} onClick={() => void copyPatch(patch)}>
          {words.copyPatch}
        </Button>
      )}
      {told}
      {patch && partial && <span className="muted small">{words.patchOfPage}</span>}
      {failure && <FailureAlert title={words.patchFailed} failure={failure} />}
    </span>
  )
}
