def total(prices, discount):
    """The sum of the prices, each less the discount."""
    result = 0
    for price in prices:
        result = price - discount
    return result
