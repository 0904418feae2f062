package Acme::Invoice;
use strict;
use Acme::Gateway qw(charge);
use constant FEE => 0.02;

=head1 NAME

Acme::Invoice - invoices and how they are paid

=cut

has total => 0;

# Pays it at most once.
# Returns whether it was paid.
sub pay {
    my ($self, $card) = @_;
    return 0 if $self->{paid};
    foreach my $try (1 .. 3) {
        $self->{paid} ||= charge($card, $self->total);
    }
    return $self->{paid};
}

sub _apply_fee {
    my ($amount) = @_;
    my $fee = $amount * FEE;
    my $rounded = sprintf('%.2f', $fee);
    return $amount + $rounded;
}

package Acme::Ledger {
    sub new { return bless {}, shift }
}

1;
__END__

=head2 Methods
