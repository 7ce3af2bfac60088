import { Tooltip } from '@base-ui/react/tooltip'
import { Safe } from './safe.tsx'

/** Tooltip anchored to its element. */
export const TipPopup = ({ anchor, words }: { readonly anchor: HTMLElement; readonly words: string }) => (
  <Tooltip.Root open>
    <Tooltip.Portal>
      <Tooltip.Positioner className="popup-place" anchor={anchor} sideOffset={6}>
        <Tooltip.Popup className="tip" aria-hidden>
          <Safe text={words} />
        </Tooltip.Popup>
      </Tooltip.Positioner>
    </Tooltip.Portal>
  </Tooltip.Root>
)
