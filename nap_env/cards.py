"""Cards as small integers, hands as 64-bit masks.

A card's id is `13 * suit + rank`: clubs 0, diamonds 1, hearts 2, spades 3; two 0 to ace 12. The
joker is 52. In text a card is its rank and then its suit: `AS`, `TD`, `2C`, and `JK`.
"""

SUITS = "CDHS"
RANKS = "23456789TJQKA"
SUIT_NAMES = ("clubs", "diamonds", "hearts", "spades")
NUM_SUITS = len(SUITS)
NUM_RANKS = len(RANKS)
JOKER = NUM_SUITS * NUM_RANKS
NUM_CARDS = JOKER + 1

CARDS = (*(rank + suit for suit in SUITS for rank in RANKS), "JK")
_IDS = {text: card for card, text in enumerate(CARDS)}

SUIT_MASK = (1 << NUM_RANKS) - 1
"""The thirteen clubs as a mask; shifted by `13 * suit` the cards of another suit."""

JOKER_MASK = 1 << JOKER


def card_id(text: str) -> int:
    """Return the id of a card written as `"QH"` or `"JK"`.

    Raises:
        ValueError: the text is not a card.
    """
    try:
        return _IDS[text]
    except (KeyError, TypeError):
        raise ValueError(
            f"{text!r} is not a card: write one of {RANKS} and one of {SUITS}, or JK"
        ) from None


def hand_cards(mask: int) -> list[str]:
    """Return the cards of a mask, by increasing id."""
    return [CARDS[card] for card in range(NUM_CARDS) if mask >> card & 1]
