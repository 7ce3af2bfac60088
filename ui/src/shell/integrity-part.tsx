import { type ComponentType, useEffect, useState } from 'react'
import { noteReach } from '../api/reach.ts'

type Parts = Readonly<Record<'Badge' | 'Banner', ComponentType>>

/** Badge or banner of the integrity (ui.md §11.11), loaded after the page. */
export const IntegrityPart = ({ part }: { readonly part: keyof Parts }) => {
  const [parts, setParts] = useState<Parts | undefined>()
  useEffect(() => {
    import('../integrity/parts.tsx').then(
      ({ Badge, Banner }) => setParts({ Badge, Banner }),
      () => noteReach('away'),
    )
  }, [])
  const Part = parts?.[part]
  return Part ? <Part /> : null
}
